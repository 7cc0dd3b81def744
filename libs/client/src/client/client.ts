import { type Backoff, jittered, pause } from '../requests/backoff.ts'
import { randomId } from '../requests/random-id.ts'
import { RequestFailed, undefinedOn } from '../requests/request-failed.ts'
import {
  type Input,
  isDeletion,
  isRepeatable,
  needsNoToken,
  type Operation,
  type RequestOptions,
  type ResponseOf,
  type SignInOperation,
  takesKey,
} from '../requests/routes.ts'
import type { PreparedRequest } from '../requests/upload.ts'
import { createSession } from '../session/session.ts'
import type { TokenStore } from '../session/tokens.ts'
import { type EventStream, openEventStream, type StreamHandlers, type StreamOptions } from '../stream/event-stream.ts'
import type { Tabs } from '../stream/tabs.ts'

export interface ClientOptions {
  /** The address of the server, such as `https://chat.example.com`. It is `''` in a page that the server itself serves. */
  baseUrl: string
  tokens: TokenStore
  /** The id of the signed-in person, if it is known before the first token. The client never uses a token of somebody else. */
  userId?: string
  /**
   * Called once when the session has ended: by logout, revocation, removal or deactivation of the user, or an expired refresh token.
   * `refusal` has the sentence with which the server has refused a new token, if this client has asked for one.
   */
  onSignedOut?: (refusal?: RequestFailed) => void
  fetch?: typeof fetch
  retries?: Partial<Backoff> & {
    /** The number of retries of one request. */
    times?: number
    /** The longest `Retry-After` that the client waits for, in seconds. With a longer one the request fails immediately. */
    longestSeconds?: number
  }
}

export interface Client {
  readonly baseUrl: string
  /**
   * Sends the request of one API operation, and retries it when that is safe. A send has an `Idempotency-Key`, so a message is stored
   * once even if the first response was lost.
   * @throws RequestFailed with the server's error, or with status 0 when no response came.
   */
  request<O extends Operation>(operation: O, ...input: InputOf<O>): Promise<ResponseOf<O>>
  /**
   * Signs in and stores the tokens of the response. A response with `mfaRequired` has no tokens: continue with `POST /auth/mfa`.
   * @throws RequestFailed
   */
  signIn<O extends SignInOperation>(operation: O, ...input: InputOf<O>): Promise<ResponseOf<O>>
  /**
   * Ends the session on the server and in this client. `SyncEngine.forget` removes the stored data of the person. Returns the address at
   * which the browser can end the session of the sign-in provider, if there is one.
   * @throws RequestFailed when the server does not respond. Then the session continues, and the call can be repeated.
   */
  signOut(): Promise<string | undefined>
  /** The id of the signed-in person. @throws RequestFailed 401 when the session has ended. */
  userId(): Promise<string>
  /** Opens an event stream with its own connection. */
  openStream(handlers: StreamHandlers, options?: StreamOptions): EventStream
  /** Opens an event stream that shares one connection with the other tabs of `joinTabs`. */
  openSharedStream(tabs: Tabs, handlers: StreamHandlers, options?: StreamOptions): EventStream
  /** Whether the session has ended, by itself or by `signOut`. */
  isSignedOut(): boolean
}

/** The input is optional when all its properties are optional. */
type InputOf<O extends Operation> = Record<never, never> extends Input<O> ? [input?: Input<O>] : [input: Input<O>]

interface LooseInput extends RequestOptions {
  params?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
}

/** A client of one server for one signed-in person. It sends nothing before the first call. */
export function createClient({
  baseUrl,
  tokens,
  userId,
  onSignedOut,
  retries = {},
  ...options
}: ClientOptions): Client {
  const fetch = options.fetch ?? globalThis.fetch.bind(globalThis)
  const session = createSession({ baseUrl, tokens, userId, onSignedOut, fetch })
  const { times = 6, longestSeconds = 30, firstMs = 250, maxMs = 8_000 } = retries
  const context = { baseUrl, session, fetch }

  async function request(operation: Operation, input: LooseInput = {}): Promise<unknown> {
    const prepared = prepare(baseUrl, operation, input)
    if (/ \/auth\//.test(operation)) Object.assign(prepared.headers, session.cookieHeader)
    // Retries must not be sent in the name of somebody who signs in meanwhile.
    const author = session.knownUserId()
    const needsNoSession = input.token !== undefined || needsNoToken(operation)
    for (let tries = 0; ; tries++) {
      try {
        const response = await (needsNoSession
          ? send(prepared, input)
          : session.authorized((token) => send(prepared, { ...input, token }), author))
        return await read(operation, response)
      } catch (error) {
        if (!(error instanceof RequestFailed)) throw error
        // An earlier try has deleted it, and the response of that try was lost.
        if (tries > 0 && error.status === 404 && isDeletion(operation)) return { success: true }
        const { retryAfter = 0 } = error
        if (tries >= (input.repeats ?? times) || retryAfter > longestSeconds || !mayRepeat(operation, error))
          throw error
        await pause(retryAfter * 1_000 + jittered(tries, { firstMs, maxMs }), input.signal)
        if (input.signal?.aborted) throw input.signal.reason
      }
    }
  }

  async function send(prepared: PreparedRequest, { token, onProgress }: RequestOptions): Promise<Response> {
    const { url, signal } = prepared
    const headers = { ...prepared.headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
    const authorized = { ...prepared, headers }
    try {
      if (onProgress) {
        const { sendWithProgress } = await import('../requests/upload.ts')
        return await sendWithProgress(authorized, onProgress, fetch)
      }
      return await fetch(url, authorized)
    } catch (error) {
      throw signal?.aborted ? signal.reason : RequestFailed.noResponse(error)
    }
  }

  async function signIn(operation: Operation, input?: LooseInput): Promise<unknown> {
    const response = (await request(operation, input)) as {
      accessToken?: string
      token?: string
      refreshToken?: string
    }
    const accessToken = response.accessToken ?? response.token
    if (accessToken !== undefined) session.begin({ accessToken, refreshToken: response.refreshToken })
    return response
  }

  async function signOut(): Promise<string | undefined> {
    const body = { refreshToken: tokens.read()?.refreshToken }
    const ended = request('POST /auth/logout', { body }) as Promise<{ logoutUrl?: string }>
    const response = await ended.catch(undefinedOn(401))
    session.end()
    return response?.logoutUrl
  }

  return {
    baseUrl,
    request: request as Client['request'],
    signIn: signIn as Client['signIn'],
    signOut,
    userId: session.requireUserId,
    openStream: (handlers, streamOptions) => openEventStream(context, handlers, streamOptions),
    openSharedStream: (tabs, handlers, streamOptions) => tabs.openStream(context, handlers, streamOptions),
    isSignedOut: session.isSignedOut,
  }
}

function prepare(baseUrl: string, operation: Operation, input: LooseInput): PreparedRequest {
  const { params = {}, query = {}, body, signal, idempotencyKey, keepalive } = input
  const [method, path] = operation.split(' ') as [string, string]
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name]!))
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  ).toString()
  const isRaw = body instanceof Blob
  const contentType = isRaw ? body.type || 'application/octet-stream' : 'application/json'
  return {
    method,
    url: `${baseUrl}${filled}${search && `?${search}`}`,
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': contentType }),
      ...(takesKey(operation) && { 'idempotency-key': idempotencyKey ?? randomId() }),
    },
    // `JSON.stringify` of no body is undefined.
    body: isRaw ? body : JSON.stringify(body),
    signal,
    keepalive,
  }
}

async function read(operation: Operation, response: Response): Promise<unknown> {
  if (!response.ok) throw await RequestFailed.from(response)
  const type = response.headers.get('content-type') ?? ''
  try {
    // A file is returned as a Blob, even if it contains text or JSON.
    if (operation.endsWith('/:filename')) return await response.blob()
    if (type.startsWith('application/json')) return await response.json()
    return await (/^text\/|ndjson/.test(type) ? response.text() : response.blob())
  } catch (error) {
    // The response is incomplete, so it is not known whether the server carried out the request.
    throw RequestFailed.noResponse(error)
  }
}

/**
 * The server did not carry out a request that it refused with 429, so the request may always be repeated. It may have carried out a
 * request without a response, or with 502 to 504. Such a request is repeated only when that is safe.
 */
function mayRepeat(operation: Operation, { status, code }: RequestFailed): boolean {
  if (status === 429) return true
  const isUncertain = [0, 502, 503, 504].includes(status) || code === 'idempotency_key_running'
  return isUncertain && isRepeatable(operation)
}
