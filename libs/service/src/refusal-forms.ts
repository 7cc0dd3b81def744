import { ApiError } from '@parley/contract'

/** A refusal as it is sent. `body` is the text of the response. */
interface WrittenRefusal {
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

/** A refusal with a code that only its protocol has, so that no `ApiError` can express it. Its response is written already. */
export class ProtocolRefusal extends Error {
  override readonly name = 'ProtocolRefusal'
  readonly status: number
  /** The reason, as a code of the protocol. */
  readonly code: string | undefined
  readonly written: WrittenRefusal
  readonly retryAfter = undefined

  constructor(code: string | undefined, written: WrittenRefusal) {
    super(code)
    this.status = written.status
    this.code = code
    this.written = written
  }
}

/** The detail codes of RFC 7644, table 9, that are used here. */
type ScimType =
  | 'invalidFilter'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue'

/** The error of SCIM (RFC 7644, 3.12). */
const writeScim = (status: number, detail: string, scimType?: ScimType): WrittenRefusal => ({
  ...json(status, {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(status),
    ...(scimType !== undefined && { scimType }),
    detail,
  }),
  contentType: 'application/scim+json; charset=utf-8',
})

/** A refusal of SCIM. */
export const scimRefusal = (status: number, detail: string, scimType?: ScimType) =>
  new ProtocolRefusal(scimType, writeScim(status, detail, scimType))

/** The form of SCIM. */
export const scimForm: RefusalForm = (refusal) => {
  const { status, code, message } = refusal
  if (code === 'last_admin') return writeScim(409, message, 'mutability')
  if (code === 'duplicate') return writeScim(409, message, 'uniqueness')
  if (refusal instanceof UnreadableBody) return writeScim(400, message, 'invalidSyntax')
  return writeScim(status, message, status === 400 ? 'invalidValue' : undefined)
}

/**
 * A refusal with an error code of Slack. The sentence, for the author of the program, is also where Slack's libraries find it and log it.
 * `fields` are further fields of the response, beside `error`.
 */
export const slackRefusal = (code: string, sentence?: string, fields: object = {}) =>
  new ProtocolRefusal(code, json(200, { ok: false, error: code, ...reasonOf(sentence), ...fields }))

const reasonOf = (sentence: string | undefined) =>
  sentence !== undefined && { details: sentence, response_metadata: { messages: [`[ERROR] ${sentence}`] } }

/** The form of Slack's web API: status 200 and an error code of Slack. Only 429 and 503 keep their status. */
export const slackForm: RefusalForm = (refusal) => {
  const { status, message } = refusal
  const error = slackErrorCodeOf(refusal)
  // Only this code does not say what is wrong.
  const reason = error === 'invalid_arguments' && reasonOf(message)
  return json(status === 429 || status === 503 ? status : 200, { ok: false, error, ...reason })
}

function slackErrorCodeOf(refusal: ApiError): string {
  const { status, code } = refusal
  if (refusal instanceof UnreadableBody) return refusal.reason === 'not JSON' ? 'invalid_json' : 'invalid_post_type'
  if (code === 'mfa_enrolment_required') return 'two_factor_setup_required'
  return slackErrorCodes[status] ?? (status >= 500 ? 'internal_error' : 'invalid_arguments')
}

const slackErrorCodes: Record<number, string> = {
  401: 'invalid_auth',
  413: 'request_too_large',
  429: 'ratelimited',
  503: 'service_unavailable',
}

const writeWord = (status: number, word: string): WrittenRefusal => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body: word,
})

/** A refusal of Slack's incoming webhooks. The response is one word, such as `no_text`. */
export const webhookRefusal = (status: number, word: string) => new ProtocolRefusal(word, writeWord(status, word))

/** The form of Slack's incoming webhooks: one word as plain text. */
export const webhookForm: RefusalForm = ({ status }) =>
  writeWord(...(webhookWords[status] ?? (status >= 500 ? webhookWords[503]! : [400, 'invalid_payload'])))

const webhookWords: Record<number, [status: number, word: string]> = {
  401: [403, 'invalid_token'],
  404: [404, 'no_service'],
  413: [413, 'payload_too_large'],
  429: [429, 'rate_limited'],
  503: [503, 'service_unavailable'],
}
