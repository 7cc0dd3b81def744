import { ApiError } from '@parley/contract'

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

const unreadable = {
  'not JSON': 'The body is not valid JSON',
  'wrong type': 'Please send the body as JSON, with the header Content-Type: application/json',
}

/** 400: the body cannot be read. Other protocols have codes of their own for the reason. */
export class UnreadableBody extends ApiError {
  readonly reason: keyof typeof unreadable

  constructor(reason: keyof typeof unreadable) {
    super(400, 'invalid_request', unreadable[reason])
    this.reason = reason
  }
}

/** The body of an error of SCIM (RFC 7644, 3.12). */
export const scimErrorBody = (status: number, detail: string, scimType?: string) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
  status: String(status),
  ...(scimType !== undefined && { scimType }),
  detail,
})

/** The form of SCIM, with the detail codes of RFC 7644, table 9. */
export const scimForm: RefusalForm = (refusal) => {
  const { status, code, message } = refusal
  const write = (scimStatus: number, scimType?: string): WrittenRefusal => ({
    ...json(scimStatus, scimErrorBody(scimStatus, message, scimType)),
    contentType: 'application/scim+json; charset=utf-8',
  })
  if (code === 'last_admin') return write(409, 'mutability')
  if (code === 'duplicate') return write(409, 'uniqueness')
  if (refusal instanceof UnreadableBody) return write(400, 'invalidSyntax')
  return write(status, status === 400 ? 'invalidValue' : undefined)
}

/** The form of Slack's web API: status 200 and an error code of Slack. Only 429 and 503 keep their status. */
export const slackForm: RefusalForm = (refusal) => {
  const { status } = refusal
  return json(status === 429 || status === 503 ? status : 200, { ok: false, error: slackErrorCodeOf(refusal) })
}

function slackErrorCodeOf(refusal: ApiError): string {
  const { status } = refusal
  if (refusal instanceof UnreadableBody) return refusal.reason === 'not JSON' ? 'invalid_json' : 'invalid_post_type'
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
