import { wireChannelId } from '@parley/access'
import { openSigningSecret } from '@parley/accounts'
import { type ChannelRow, uuidv7 } from '@parley/database'
import type { Caller } from '@parley/identity'
import { type Requester, RequestFailed } from '@parley/requester'
import type { Deps } from '@parley/service'
import { slackSignature } from '@parley/slack'
import type { App } from './apps.queries.ts'
import type { Original } from './ephemeral-messages.ts'

/** An app must answer within this time, as at Slack. */
const timeoutMs = 3_000

/** The use of an app in a channel: a person types its command or clicks its button. */
export interface Interaction {
  app: App
  caller: Pick<Caller, 'userId' | 'userName'>
  channel: ChannelRow
  /** The id of the request in which the person uses the app, or in which the app answers later. Logs contain it. */
  requestId: string
  /** The message with the button. Undefined for a command. */
  messageId?: string
  /** The ephemeral message with the button. Undefined for a command and for a stored message. */
  original?: Original
}

/** The use of an app in a request of the person. */
export interface RequestedInteraction extends Interaction {
  caller: Caller
}

/** The answer of an app: a payload in Slack's format, nothing, or a sentence that says why the app failed. */
export type AppAnswer = { payload: Record<string, unknown> } | 'nothing' | { failure: string }

/** The whole server, which is a workspace for Slack. */
export const team = { id: 'parley', domain: 'parley' }

/** The fields that Slack sends with commands and with clicks. */
export const slackFieldsOf = ({ app, channel }: Interaction) => ({
  api_app_id: app.botId,
  is_enterprise_install: false,
  channel: { id: wireChannelId(channel), name: channel.kind === 'direct' ? 'directmessage' : channel.name! },
  trigger_id: uuidv7(),
})

/** Sends a form to an app, signed like Slack's, and reads the answer. Redirects are not followed. */
export async function callApp(
  requester: Requester,
  { seals, clock, logger }: Deps,
  { app, url, form }: { app: App; url: string; form: Record<string, string> },
): Promise<AppAnswer> {
  const secret = openSigningSecret(seals, app)
  if (secret === undefined) return { failure: 'its signing secret cannot be read any more. An admin must replace it' }
  const body = new URLSearchParams(form).toString()
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'user-agent': 'Parley',
    accept: 'application/json,*/*',
    ...slackSignature(secret, body, clock()),
  }
  try {
    const response = await requester.request({ url, method: 'POST', headers, body, timeoutMs })
    if (response.status < 200 || response.status > 299)
      return { failure: `it answered with the status ${response.status}` }
    return readAnswer(response.body.toString(), response.isCut)
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error
    logger.debug({ err: error, app: app.botId }, 'an app did not answer')
    return { failure: failures[error.reason] ?? 'it could not be reached' }
  }
}

const failures: Partial<Record<RequestFailed['reason'], string>> = {
  slow: `it did not answer within ${timeoutMs / 1_000} seconds`,
  forbidden: 'this server does not call addresses of internal networks',
}

/** Parses the answer of an app. As at Slack, an answer that is not JSON is a text for the caller. */
function readAnswer(text: string, isCut: boolean): AppAnswer {
  if (isCut) return { failure: 'its answer is too long' }
  if (text.trim() === '') return 'nothing'
  if (!text.trimStart().startsWith('{')) return { payload: { text } }
  try {
    // `trim` also removes a byte order mark, which some programs write before JSON.
    return { payload: JSON.parse(text.trim()) }
  } catch {
    return { failure: 'its answer is not valid JSON' }
  }
}
