import { type Static, Type } from 'typebox'

/** Stable, machine-readable error codes. A code is never renamed and never changes its HTTP status. */
type ErrorCode =
  | 'invalid_request'
  | 'invalid_cursor'
  | 'weak_password'
  | 'duplicate'
  | 'last_admin'
  | 'recipient_gone'
  | 'idempotency_key_reused'
  | 'unauthorized'
  | 'session_of_deactivated'
  | 'forbidden'
  | 'account_deactivated'
  | 'insufficient_scope'
  | 'mfa_enrolment_required'
  | 'mfa_required'
  | 'password_required'
  | 'mfa_attempt_ended'
  | 'already_set_up'
  | 'not_found'
  | 'request_timeout'
  | 'idempotency_key_running'
  | 'managed_by_directory'
  | 'body_too_large'
  | 'body_compressed'
  | 'quota_exceeded'
  | 'invalid_range'
  | 'rate_limited'
  | 'internal_error'
  | 'unavailable'

/** The body of every refused request. */
export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'What went wrong, as a sentence for a person' }),
    code: Type.Optional(Type.String({ description: 'Stable, machine-readable code' })),
    requestId: Type.Optional(Type.String({ description: 'Quote it when asking an operator for help' })),
  },
  { description: 'A refusal' },
)
export type ErrorBody = Static<typeof ErrorBody>

/** A refusal for the caller. Thrown anywhere; the service's error handler turns it into the response. */
export class ApiError extends Error {
  readonly status: number
  readonly code: ErrorCode
  /** Seconds for the `Retry-After` header. */
  readonly retryAfter: number | undefined

  constructor(status: number, code: ErrorCode, message: string, retryAfter?: number) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = code
    this.retryAfter = retryAfter
  }
}

/** 400: malformed or refused input. */
export const invalid = (message: string, code: ErrorCode = 'invalid_request') => new ApiError(400, code, message)

/** 400: a field that names people has at least one id of nobody. */
export const unknownUser = (field: string) =>
  invalid(`${field} must contain only ids of users, and at least one of them is not`)

/** 401: no, bad, expired or revoked credentials. */
export const unauthorized = (message = 'Please sign in') => new ApiError(401, 'unauthorized', message)

/** 401: the session has ended or expired, or its user was removed. */
export const sessionEnded = () => unauthorized('Your session has ended. Please sign in again')

/** 403: the resource exists, but the caller may not do this. */
export const forbidden = (message: string, code: ErrorCode = 'forbidden') => new ApiError(403, code, message)

/** 403: the API token may not do this; `none` when no API token may. */
export const insufficientScope = (needed: string) =>
  new ApiError(
    403,
    'insufficient_scope',
    needed === 'none' ? 'API tokens may not do this. Please sign in' : `This needs a token with the scope ${needed}`,
  )

/** 403: the configuration requires a second factor, and the person has not set one up yet. */
export const enrolmentRequired = () =>
  new ApiError(403, 'mfa_enrolment_required', 'This server requires a second factor. Please set one up first')

/** 403: the request also needs a second factor. */
export const secondFactorRequired = () =>
  new ApiError(403, 'mfa_required', 'This also needs your second factor: code, recoveryCode or credential')

/** 403: the person signed in long ago, and must confirm the request with their password. */
export const passwordRequired = () =>
  new ApiError(403, 'password_required', 'You signed in long ago, so this also needs your password: currentPassword')

/** 401: the sign-in that waited for a second factor has expired, was finished, or had too many wrong answers. */
export const attemptEnded = () =>
  new ApiError(401, 'mfa_attempt_ended', 'This sign-in has ended. Please sign in again from the beginning')

/** 409: the second factor is set up already, and must be removed first. */
export const alreadySetUp = (message: string) => new ApiError(409, 'already_set_up', message)

/** 404: the resource does not exist. `what` is a noun such as `message`. */
export const notFound = (what: string) => new ApiError(404, 'not_found', `There is no such ${what}`)

/** 409: a request with the same `Idempotency-Key` is still running. */
export const stillRunning = () =>
  new ApiError(409, 'idempotency_key_running', 'A request with this Idempotency-Key is still running', 1)

/** 413: the body exceeds the transport limit of its route. */
export const tooLarge = () => new ApiError(413, 'body_too_large', 'The request body is too large')

/** 429: too many requests. `retryAfter` is the number of seconds after which the client may try again. */
export const tooMany = (message: string, retryAfter: number) => new ApiError(429, 'rate_limited', message, retryAfter)

/** 503: a dependency does not answer. The client may try again after `retryAfter` seconds. */
export const unavailable = (message = 'The server cannot answer right now. Please try again', retryAfter = 1) =>
  new ApiError(503, 'unavailable', message, retryAfter)

/** The error responses of a route, for its OpenAPI entry: `response: { 200: …, ...refusals(400, 403) }`. */
export const refusals = <Status extends number>(...statuses: Status[]) =>
  Object.fromEntries(statuses.map((status) => [status, ErrorBody])) as Record<Status, typeof ErrorBody>
