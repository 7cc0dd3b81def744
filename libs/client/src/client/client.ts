import { type Backoff, jittered, pause } from '../requests/backoff.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import {
  type Input,
  isOpen,
  isRepeatable,
  type Operation,
  type Reply,
  type RequestOptions,
  type SignInOperation,
  takesKey,
} from '../requests/routes.ts'
import type { PreparedRequest } from '../requests/upload.ts'
import { createSession } from '../session/session.ts'
import type { TokenStore } from '../session/tokens.ts'
import { type EventStream, openEventStream, type StreamHandlers, type StreamOptions } from '../stream/event-stream.ts'
import { randomId, type Tabs } from '../stream/tabs.ts'

export interface ClientOptions {
  /** Where the server is, such as `https://chat.example.com`; in its own web page `''`. */
  baseUrl: string
  tokens: TokenStore
  /** The person who is signed in, when that is known before the first token: a token of somebody else is never used. */
  userId?: string
  /** Told once when the session has ended: logout, revocation, removal, or a refresh token that has expired. */
  onSignedOut?: () => void
  fetch?: typeof fetch
  retries?: Partial<Backoff> & {
    /** How often a request is repeated. */
    times?: number
    /** Longest `Retry-After` that is waited for, in seconds; with a longer one the request fails at once. */
    longestSeconds?: number
  }
}

export interface Client {
  readonly baseUrl: string
  /**
   * Carries out one operation of the API. It repeats what may be repeated: a send carries an `Idempotency-Key`, so one whose
   * answer was lost is stored once.
   * @throws RequestFailed with the server's refusal, or status 0 when no answer came.
   */
  request<O extends Operation>(operation: O, ...input: InputOf<O>): Promise<Reply<O>>
  /**
   * Signs in and keeps the tokens of the reply. A reply with `mfaRequired` has none: sign in with `POST /auth/mfa` then.
   * @throws RequestFailed
   */
  signIn<O extends SignInOperation>(operation: O, ...input: InputOf<O>): Promise<Reply<O>>
  /**
   * Ends the session on the server and here. What else is kept of the person is removed by `SyncEngine.forget`. Answers where the browser
   * may end the session at the provider that the person signed in through.
   * @throws RequestFailed when the server does not answer. The session goes on then, and the call may be repeated.
   */
  signOut(): Promise<string | undefined>
  /** The id of the person who is signed in. @throws RequestFailed 401 when the session has ended. */
  userId(): Promise<string>
  /** Follows what happens, through a connection of its own. */
  openStream(handlers: StreamHandlers, options?: StreamOptions): EventStream
  /** Follows what happens through one connection for all tabs that `joinTabs` has joined. */
  openSharedStream(tabs: Tabs, handlers: StreamHandlers, options?: StreamOptions): EventStream
  isSignedOut(): boolean
}

/** The input may be left out where nothing in it is needed. */
type InputOf<O extends Operation> = Record<never, never> extends Input<O> ? [input?: Input<O>] : [input: Input<O>]

interface LooseInput extends RequestOptions {
  params?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
}

/** A client of one server for one signed-in person. Nothing happens before the first call. */
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
  const { times = 6, longestSeconds = 30, firstMs = 250, mostMs = 8_000 } = retries
  const context = { baseUrl, session, fetch }

  async function request(operation: Operation, input: LooseInput = {}): Promise<unknown> {
    const prepared = prepare(baseUrl, operation, input)
    if (/ \/auth\//.test(operation)) Object.assign(prepared.headers, session.headers)
    const author = session.author()
    const carriesOwnToken = input.token !== undefined || isOpen(operation)
    for (let tries = 0; ; tries++) {
      try {
        const response = await (carriesOwnToken
          ? send(prepared, input)
          : session.authorized((token) => send(prepared, { ...input, token }), author))
        return await read(operation, response)
      } catch (error) {
        if (!(error instanceof RequestFailed) || tries >= (input.repeats ?? times) || !mayRepeat(operation, error))
          throw error
        if ((error.retryAfter ?? 0) > longestSeconds) throw error
        const waitMs = (error.retryAfter ?? 0) * 1_000 + jittered(tries, { firstMs, mostMs })
        await pause(waitMs, input.signal)
        if (input.signal?.aborted) throw input.signal.reason
      }
    }
  }

  async function send(prepared: PreparedRequest, { token, onProgress }: RequestOptions): Promise<Response> {
    const { method, url, body, signal, keepalive } = prepared
    const headers = { ...prepared.headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
    try {
      if (onProgress) {
        const { sendWithProgress } = await import('../requests/upload.ts')
        return await sendWithProgress({ ...prepared, headers }, onProgress, fetch)
      }
      return await fetch(url, {
        method,
        headers,
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
        ...(keepalive && { keepalive }),
      })
    } catch (error) {
      throw signal?.aborted ? signal.reason : RequestFailed.noAnswer(error)
    }
  }

  async function signIn(operation: Operation, input?: LooseInput): Promise<unknown> {
    const reply = (await request(operation, input)) as { accessToken?: string; token?: string; refreshToken?: string }
    const accessToken = reply.accessToken ?? reply.token
    if (accessToken !== undefined) session.begin({ accessToken, refreshToken: reply.refreshToken })
    return reply
  }

  async function signOut(): Promise<string | undefined> {
    const refreshToken = tokens.read()?.refreshToken
    const isOver = (error: unknown) => {
      if (!(error instanceof RequestFailed && error.status === 401)) throw error
      return {}
    }
    const body = refreshToken === undefined ? {} : { refreshToken }
    const reply = (await request('POST /auth/logout', { body }).catch(isOver)) as { logoutUrl?: string }
    session.end()
    return reply.logoutUrl
  }

  return {
    baseUrl,
    request: request as Client['request'],
    signIn: signIn as Client['signIn'],
    signOut,
    userId: session.owner,
    openStream: (handlers, streamOptions) => openEventStream(context, handlers, streamOptions),
    openSharedStream: (tabs, handlers, streamOptions) => tabs.openStream(context, handlers, streamOptions),
    isSignedOut: session.isSignedOut,
  }
}

function prepare(baseUrl: string, operation: Operation, input: LooseInput): PreparedRequest {
  const { params = {}, query = {}, body, signal, idempotencyKey, keepalive = false } = input
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
    body: body === undefined || isRaw ? body : JSON.stringify(body),
    signal,
    keepalive,
  }
}

async function read(operation: Operation, response: Response): Promise<unknown> {
  if (!response.ok) throw await RequestFailed.from(response)
  const type = response.headers.get('content-type') ?? ''
  try {
    // A file is handed over as it is, also one that holds text or JSON.
    if (operation.endsWith('/:filename')) return await response.blob()
    if (type.startsWith('application/json')) return await response.json()
    return await (/^text\/|ndjson/.test(type) ? response.text() : response.blob())
  } catch (error) {
    // The answer broke off: nobody knows whether the request was carried out.
    throw RequestFailed.noAnswer(error)
  }
}

/**
 * A request that was answered with 429 was not carried out, so it may always be repeated. One without an answer, or
 * with 502 to 504, may have been carried out, so it is repeated only when that does no harm.
 */
function mayRepeat(operation: Operation, { status, code }: RequestFailed): boolean {
  if (status === 429) return true
  const isUncertain = status === 0 || (status >= 502 && status <= 504) || code === 'idempotency_key_running'
  return isUncertain && isRepeatable(operation)
}
