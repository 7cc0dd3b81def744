import { type Backoff, jittered, pause } from './backoff.ts'
import { type EventStream, openEventStream, type StreamHandlers, type StreamOptions } from './event-stream.ts'
import { RequestFailed } from './request-failed.ts'
import { type Input, isRepeatable, type Operation, type Reply, takesKey } from './routes.ts'
import { createSession } from './session.ts'
import { openSharedStream } from './shared-stream.ts'
import type { TokenStore } from './tokens.ts'

export interface ClientOptions {
  /** Where the server is, such as `https://chat.example.com`; in its own web page `''`. */
  baseUrl: string
  tokens: TokenStore
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
   * Carries out one operation of the API. What may be repeated is repeated: a send carries an `Idempotency-Key`, so one that
   * was answered by silence is stored once.
   * @throws RequestFailed with the server's refusal, or status 0 when no answer came.
   */
  request<O extends Operation>(operation: O, ...input: InputOf<O>): Promise<Reply<O>>
  /** Follows what happens, through a connection of its own. */
  openStream(handlers: StreamHandlers, options?: StreamOptions): EventStream
  /**
   * Follows what happens through one connection for all tabs of this browser that give the same name, which should name the
   * server and the person. Where the platform has no Web Locks, it is a stream of its own.
   */
  openSharedStream(name: string, handlers: StreamHandlers, options?: StreamOptions): EventStream
  isSignedOut(): boolean
}

/** The input may be left out where nothing in it is needed. */
type InputOf<O extends Operation> = Record<never, never> extends Input<O> ? [input?: Input<O>] : [input: Input<O>]

interface Attempt {
  method: string
  url: string
  headers: Record<string, string>
  body: string | undefined
  signal: AbortSignal | undefined
}

interface LooseInput {
  params?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
  signal?: AbortSignal
  idempotencyKey?: string
}

/** A client of one server for one signed-in person. Nothing happens before the first call. */
export function createClient({ baseUrl, tokens, onSignedOut, retries = {}, ...options }: ClientOptions): Client {
  const fetch = options.fetch ?? globalThis.fetch.bind(globalThis)
  const session = createSession({ baseUrl, tokens, onSignedOut, fetch })
  const { times = 6, longestSeconds = 30, firstMs = 250, mostMs = 8_000 } = retries

  async function request(operation: Operation, input: LooseInput = {}): Promise<unknown> {
    const attempt = prepare(baseUrl, operation, input)
    for (let tries = 0; ; tries++) {
      try {
        return await authorized(attempt)
      } catch (error) {
        if (!(error instanceof RequestFailed) || tries >= times || !mayRepeat(operation, error)) throw error
        if ((error.retryAfter ?? 0) > longestSeconds) throw error
        const waitMs = (error.retryAfter ?? 0) * 1_000 + jittered(tries, { firstMs, mostMs })
        await pause(waitMs, input.signal)
        if (input.signal?.aborted) throw input.signal.reason
      }
    }
  }

  /** With a fresh token when the first one is refused; a fresh one that is refused ends the session. */
  async function authorized(attempt: Attempt): Promise<unknown> {
    const token = session.accessToken()
    const response = await send(attempt, token)
    if (response.status !== 401) return read(response)
    await response.body?.cancel()
    const second = await send(attempt, await session.renew(token))
    if (second.status === 401) throw session.end()
    return read(second)
  }

  async function send({ method, url, headers, body, signal }: Attempt, token: string): Promise<Response> {
    try {
      return await fetch(url, {
        method,
        headers: { ...headers, authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      })
    } catch (error) {
      throw signal?.aborted ? signal.reason : RequestFailed.noAnswer(error)
    }
  }

  return {
    baseUrl,
    request: request as Client['request'],
    openStream: (handlers, streamOptions) => openEventStream({ baseUrl, session, fetch }, handlers, streamOptions),
    openSharedStream: (name, handlers, streamOptions) =>
      openSharedStream(name, { baseUrl, session, fetch }, handlers, streamOptions),
    isSignedOut: session.isSignedOut,
  }
}

function prepare(baseUrl: string, operation: Operation, input: LooseInput): Attempt {
  const { params = {}, query = {}, body, signal, idempotencyKey } = input
  const [method, path] = operation.split(' ') as [string, string]
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name]!))
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  ).toString()
  return {
    method,
    url: `${baseUrl}${filled}${search && `?${search}`}`,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(takesKey(operation) ? { 'idempotency-key': idempotencyKey ?? crypto.randomUUID() } : {}),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
  }
}

async function read(response: Response): Promise<unknown> {
  if (!response.ok) throw await RequestFailed.from(response)
  try {
    return await response.json()
  } catch (error) {
    // The answer broke off: nobody knows whether it was carried out.
    throw RequestFailed.noAnswer(error)
  }
}

/** 429 was not carried out, so it may always be repeated; what got no answer, or 502 to 504, perhaps was. */
function mayRepeat(operation: Operation, { status, code }: RequestFailed): boolean {
  if (status === 429) return true
  const isUncertain = status === 0 || (status >= 502 && status <= 504) || code === 'idempotency_key_running'
  return isUncertain && isRepeatable(operation)
}
