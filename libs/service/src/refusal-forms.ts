import type { ApiError } from '@parley/contract'

/** A refusal as it is sent. `body` is the text of the response. */
export interface WrittenRefusal {
  status: number
  contentType: string
  body: string
}

/** Writes a refusal in the form of a protocol. */
export type RefusalForm = (refusal: ApiError, requestId: string) => WrittenRefusal

const json = (status: number, body: object): WrittenRefusal => ({
  status,
  contentType: 'application/json; charset=utf-8',
  body: JSON.stringify(body),
})

export const parleyForm: RefusalForm = ({ status, message, code }, requestId) =>
  json(status, { error: message, code, requestId })

/** The sentences about bodies that cannot be read. Other protocols have codes of their own for them. */
export const unreadable = {
  json: 'The body is not valid JSON',
  type: 'Please send the body as JSON, with the header Content-Type: application/json',
}

/** The body of an error of SCIM (RFC 7644, 3.12). */
export const scimErrorBody = (status: number, detail: string, scimType?: string) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
  status: String(status),
  ...(scimType !== undefined && { scimType }),
  detail,
})

/** The form of SCIM, with the detail codes of RFC 7644, table 9. */
export const scimForm: RefusalForm = ({ status, code, message }) => {
  const written = (as: number, scimType?: string): WrittenRefusal => ({
    ...json(as, scimErrorBody(as, message, scimType)),
    contentType: 'application/scim+json; charset=utf-8',
  })
  if (code === 'last_admin') return written(409, 'mutability')
  if (code === 'duplicate') return written(409, 'uniqueness')
  if (message === unreadable.json || message === unreadable.type) return written(400, 'invalidSyntax')
  return written(status, status === 400 ? 'invalidValue' : undefined)
}

/** The form of Slack's web API: status 200 and an error code of Slack. Only 429 and 503 keep their status. */
export const slackForm: RefusalForm = ({ status, message }) =>
  json(status === 429 || status === 503 ? status : 200, { ok: false, error: slackErrorCodeOf(status, message) })

function slackErrorCodeOf(status: number, message: string): string {
  if (message === unreadable.json) return 'invalid_json'
  if (status === 400 && message.includes('Content-Type')) return 'invalid_post_type'
  return slackErrorCodes[status] ?? (status >= 500 ? 'internal_error' : 'invalid_arguments')
}

const slackErrorCodes: Record<number, string> = {
  401: 'invalid_auth',
  413: 'request_too_large',
  429: 'ratelimited',
  503: 'service_unavailable',
}

/** The form of Slack's incoming webhooks: one word as plain text. */
export const webhookForm: RefusalForm = ({ status: given }) => {
  const [status, body] = webhookWords[given] ?? (given >= 500 ? webhookWords[503]! : [400, 'invalid_payload'])
  return { status, contentType: 'text/plain; charset=utf-8', body }
}

const webhookWords: Record<number, [status: number, word: string]> = {
  401: [403, 'invalid_token'],
  404: [404, 'no_service'],
  413: [413, 'payload_too_large'],
  429: [429, 'rate_limited'],
  503: [503, 'service_unavailable'],
}
