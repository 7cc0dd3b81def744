import { randomUUID } from 'node:crypto'
import { tooMany, unauthorized, unavailable } from '@parley/contract'
import type { Caller } from '@parley/identity'
import { type Deps, slackRefusal } from '@parley/service'
import type { CallService, ServiceRequest, ServiceResponse } from '../call-services.ts'

/** The arguments of a method, from the query, a form or JSON. */
export type Arguments = Record<string, unknown>

/** One call of a method, on behalf of the owner of the token. */
export interface SlackCall {
  deps: Deps
  args: Arguments
  caller: Caller
  token: string
  /**
   * Sends a request of Parley's API. `errorCodes` maps statuses, and codes of Parley, to error codes of Slack.
   * @throws ProtocolRefusal with the code for the refusal; ApiError 401, 429 and 503.
   */
  ask(request: Asked, errorCodes?: ErrorCodes): Promise<ResponseBody>
}

export type ErrorCodes = Record<number | string, string>
type Asked = Pick<ServiceRequest, 'service' | 'method' | 'path' | 'body' | 'idempotencyKey'> & {
  /** The request creates something. It gets an `Idempotency-Key`, so that a repetition does not create it twice. */
  isKeyed?: true
}
type ResponseBody = ServiceResponse['body']

/** Makes the `ask` of a call. */
export function createAsk(
  call: CallService,
  { caller, token, requestId }: { caller: Caller; token: string; requestId: string },
): SlackCall['ask'] {
  return async ({ isKeyed, ...request }, errorCodes = {}) => {
    const key = isKeyed ? { idempotencyKey: randomUUID() } : {}
    const response = await call({ ...key, ...request, token, requestId })
    if (response.status === 200) return response.body
    throw slackRefusalOf(response, errorCodes, caller)
  }
}

function slackRefusalOf({ status, retryAfter, body }: ServiceResponse, errorCodes: ErrorCodes, caller: Caller) {
  if (status === 401) return unauthorized()
  if (status === 429) return tooMany('Too many requests', retryAfter ?? 1)
  if (status >= 500) return unavailable()
  if (body?.code === 'insufficient_scope') return missingScope(caller)
  const code = errorCodes[body?.code] ?? errorCodes[status] ?? defaultErrorCodes[status] ?? 'invalid_arguments'
  return slackRefusal(code, body?.error)
}

const defaultErrorCodes: Record<number, string> = { 403: 'not_in_channel', 404: 'channel_not_found' }

/** No method needs more than this scope. */
const missingScope = (caller: Caller) =>
  slackRefusal('missing_scope', 'The token needs the scope write', { needed: 'write', provided: scopesOf(caller) })

/** The scopes of a caller, as Slack lists them. A session has no scopes, and may do what these allow. */
export const scopesOf = ({ scopes }: Caller) => (scopes ?? ['read', 'write']).join(',')

/**
 * Checks that the caller's scopes allow changes. A method calls it when it changes something without a request to
 * Parley's API. Such a request checks the scopes itself.
 * @throws ProtocolRefusal `missing_scope`.
 */
export function requireWriteScope({ caller }: SlackCall) {
  if (caller.scopes && !caller.scopes.some((scope) => scope !== 'read')) throw missingScope(caller)
}

/**
 * An argument that is a text or a number, as text that can be part of an address. @throws ProtocolRefusal with the code `missing`, if given, when the
 * argument is missing.
 */
export function textOf(args: Arguments, name: string, missing?: string): string {
  const value = args[name]
  const text = typeof value === 'string' ? value.toWellFormed() : typeof value === 'number' ? String(value) : ''
  if (text === '' && missing !== undefined) throw slackRefusal(missing, `${name} is missing`)
  return text
}

/** The argument `limit` of most lists. */
export const pageSize = { fallback: 100, most: 200 }

/** An argument that is a positive whole number, at most `most`; without one, it is `fallback`. */
export function numberOf(args: Arguments, name: string, { fallback, most }: { fallback: number; most: number }) {
  const number = Math.floor(Number(textOf(args, name)))
  return Number.isFinite(number) && number > 0 ? Math.min(number, most) : fallback
}

/** An argument that is true or false. A form has it as text. */
export const booleanOf = (args: Arguments, name: string) =>
  args[name] === true || /^(true|1)$/i.test(textOf(args, name))

/** The items of a text in which commas separate them. */
export const listOf = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)

/** An argument that is JSON. A form has it as text. @throws ProtocolRefusal when the text is not JSON. */
export function jsonOf(args: Arguments, name: string, errorCode: string): unknown {
  const value = args[name]
  if (typeof value !== 'string') return value
  if (value === '') return undefined
  try {
    return JSON.parse(value)
  } catch {
    throw slackRefusal(errorCode)
  }
}

/** The cursor of the page after this item, which is opaque to programs. It is empty on the last page. */
export const writeCursor = (after: string | undefined) => ({
  response_metadata: { next_cursor: after === undefined ? '' : Buffer.from(after).toString('base64url') },
})

/** The item after which the page begins; undefined for the first page. */
export function readCursor(args: Arguments): string | undefined {
  const cursor = textOf(args, 'cursor')
  return cursor === '' ? undefined : Buffer.from(cursor, 'base64url').toString()
}
