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
