import type { TestEnvironment } from '@parley/test/test-environment'
import { LogLevel, WebClient } from '@slack/web-api'

/** Slack's own client, which calls the server of the test. */
export const slackClient = ({ baseUrl }: TestEnvironment, token: string | undefined) =>
  new WebClient(token, {
    slackApiUrl: `${baseUrl}/slack/api/`,
    retryConfig: { retries: 0 },
    logLevel: LogLevel.ERROR,
  })

/** 'ok', or Slack's word for the refusal. */
export const wordOf = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error: { data?: { error: string } }) => error.data?.error,
  )

/** The `ts` of a message of a channel, found by its text. */
export const tsOf = async (slack: WebClient, { id }: { id: string }, { content }: { content: string }) =>
  (await slack.conversations.history({ channel: id })).messages!.find(({ text }) => text === content)!.ts!
