import { randomBytes } from 'node:crypto'
import { invalid } from '@parley/contract'
import { type Requester, RequestFailed } from '@parley/requester'
import { slackSignature } from '@parley/slack'
import type { EventRequest } from './event-requests.ts'

/** The address that a subscription sends its events to. */
export interface Receiver {
  url: string
  /** The secret that signs requests; null when it cannot be decrypted, because `auth.jwtSecret` was replaced. */
  secret: string | null
}

export interface DeliveryOutcome {
  /** The status of the response; null when there was none. */
  status: number | null
  durationMs: number
  /** Null when the receiver accepted the event. */
  error: string | null
  /** Whether the receiver asks for no further attempt, by a header of Slack. */
  isFinal?: boolean
}

/** The outcome when no request is sent, because it cannot be signed. */
export const secretIsLost: DeliveryOutcome = {
  status: null,
  durationMs: 0,
  error: 'The secret cannot be read since auth.jwtSecret was replaced. Please create the subscription again',
}

/** Only the status of a response to an event matters, so little of its body is read. */
const maxResponseBytes = 16_384

/** Sends a request once. Every 2xx means that the receiver accepted it. @throws the signal's reason when the signal ended the request. */
export async function deliver(
  requester: Requester,
  { url }: Receiver,
  request: EventRequest,
  signal: AbortSignal,
): Promise<DeliveryOutcome> {
  const headers = { 'content-type': 'application/json', 'user-agent': 'Parley', ...request.headersAt(new Date()) }
  const begun = performance.now()
  const durationMs = () => Math.round(performance.now() - begun)
  try {
    const { status, headers: received } = await requester.request({
      url,
      method: 'POST',
      headers,
      body: request.body,
      maxBytes: maxResponseBytes,
      isBodyOptional: true,
      signal,
    })
    const error = status >= 200 && status < 300 ? null : `The receiver answered ${status}`
    return { status, durationMs: durationMs(), error, isFinal: received['x-slack-no-retry'] === '1' }
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error
    return { status: null, durationMs: durationMs(), error: error.message }
  }
}

/** An address must answer the challenge within this time, as at Slack. */
const challengeMs = 3_000

/**
 * Checks, like Slack, that an address expects Slack's events: its answer must contain the challenge, as a text, a form
 * or JSON. @throws ApiError 400 with the reason when it does not.
 */
export async function verifyUrl(requester: Requester, { url, secret }: { url: string; secret: string }): Promise<void> {
  const challenge = randomBytes(24).toString('hex')
  const body = JSON.stringify({ token: 'parley', type: 'url_verification', challenge })
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Parley',
    ...slackSignature(secret, body, Date.now()),
  }
  const response = await requester
    .request({ url, method: 'POST', headers, body, timeoutMs: challengeMs, maxBytes: maxResponseBytes })
    .catch((error) => {
      if (error instanceof RequestFailed) throw invalid(`url does not answer url_verification: ${error.message}`)
      throw error
    })
  if (response.status !== 200) throw invalid(`url answers url_verification with the status ${response.status}`)
  if (!response.body.toString().includes(challenge))
    throw invalid('url does not answer the challenge of url_verification')
}
