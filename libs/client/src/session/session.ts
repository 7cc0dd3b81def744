import { jittered, pause } from '../requests/backoff.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import type { TokenPair, TokenStore } from './tokens.ts'

interface SessionOptions {
  baseUrl: string
  tokens: TokenStore
  /** The id of the signed-in person, if it is known already. A token of somebody else ends the session. */
  userId?: string | undefined
  /** Called once, when the session has ended and the person must sign in again, with the refusal of the refresh, if there was one. */
  onSignedOut?: ((refusal?: RequestFailed) => void) | undefined
  fetch: typeof fetch
}

export type Session = ReturnType<typeof createSession>

const refreshTries = 6
/** Four tries fit into the minute in which the server exchanges the same refresh token again. Until then all tabs wait for the refresh. */
const refreshTimeoutMs = 15_000
const backoff = { firstMs: 250, maxMs: 8_000 }

/** The session of one signed-in person. Its requests and streams share the access token, and one refresh at a time. */
export function createSession({ baseUrl, tokens, onSignedOut = () => {}, fetch, ...options }: SessionOptions) {
  let { userId } = options
  let refreshing: Promise<TokenPair> | undefined
  let signedOut = false
  /** The number of successful sign-ins. A request that began before the last one does not say whether its session has ended. */
  let signIns = 0
  /** For requests below `/auth`: makes the server read and write the refresh token in the cookie of the browser. */
  const cookieHeader: Record<string, string> = tokens.isCookie ? { 'x-parley-session': 'cookie' } : {}

  /** @throws RequestFailed 401 when the session has ended. */
  async function accessToken(): Promise<string> {
    if (signedOut) throw endOfSession()
    const pair = tokens.read()
    if (pair) return requireOwn(pair).accessToken
    if (tokens.isCookie) return renew(undefined)
    // Another tab or client with the same token store has ended the session.
    throw end()
  }

  /**
   * A new access token after the server has refused this one.
   * @throws RequestFailed 401 when the session has ended, or another status when the server could not refresh it.
   */
  async function renew(refused: string | undefined): Promise<string> {
    if (signedOut) throw endOfSession()
    const known = tokens.read()
    if (known && known.accessToken !== refused) return requireOwn(known).accessToken
    refreshing ??= withLock(tokens.lockName, () => refresh(refused)).finally(() => {
      refreshing = undefined
    })
    return requireOwn(await refreshing).accessToken
  }

  /**
   * Sends a request with the access token. When the server refuses the token, it sends the request once more with a new one. If that one
   * is refused too, the session has ended.
   * @param author the person in whose name the request is sent. It is not sent in the name of somebody who signs in meanwhile.
   * @throws RequestFailed as `renew`, and what `send` throws.
   */
  async function authorized(send: (token: string) => Promise<Response>, author = userId): Promise<Response> {
    const sendAsAuthor = (token: string) => {
      if (author !== undefined && author !== userId) throw endOfSession()
      return send(token)
    }
    const signInsBefore = signIns
    const token = await accessToken()
    const response = await sendAsAuthor(token)
    if (response.status !== 401) return response
    await response.body?.cancel()
    const second = await sendAsAuthor(await renew(token))
    if (second.status === 401) throw end(signInsBefore)
    return second
  }

  async function refresh(refused: string | undefined): Promise<TokenPair> {
    const signInsBefore = signIns
    // The previous holder of the lock, for example another tab, may have refreshed already.
    const pair = tokens.read()
    if (pair && pair.accessToken !== refused) return pair
    if (!pair?.refreshToken && !tokens.isCookie) throw end()

    // The request may be repeated: for a minute, the server exchanges the same refresh token for the same new one.
    for (let tries = 0; ; tries++) {
      const result = await requestTokens(pair?.refreshToken).catch((error: RequestFailed) => error)
      if (signInsBefore !== signIns) throw endOfSession()
      if (!(result instanceof RequestFailed)) {
        tokens.write(result)
        return result
      }
      if ([400, 401].includes(result.status)) throw end(signIns, result)
      if (tries + 1 >= refreshTries) throw result
      await pause((result.retryAfter ?? 0) * 1_000 + jittered(tries, backoff))
    }
  }

  async function requestTokens(refreshToken: string | undefined): Promise<TokenPair> {
    const response = await fetch(`${baseUrl}/auth/refresh`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...cookieHeader },
      body: JSON.stringify({ refreshToken }),
      signal: AbortSignal.timeout(refreshTimeoutMs),
    }).catch((error) => {
      throw RequestFailed.noResponse(error)
    })
    if (!response.ok) throw await RequestFailed.from(response)
    const { accessToken, refreshToken: next } = (await response.json().catch((error) => {
      throw RequestFailed.noResponse(error)
    })) as TokenPair
    return { accessToken, refreshToken: next }
  }

  /**
   * Ends this client's session, unless somebody has signed in since there were `signInsBefore`. Returns the error for the request that found out.
   */
  function end(signInsBefore = signIns, refusal?: RequestFailed): RequestFailed {
    if (!signedOut && signInsBefore === signIns) {
      signedOut = true
      const pair = tokens.read()
      if (pair && isOwn(pair)) tokens.write(undefined)
      onSignedOut(refusal)
    }
    return endOfSession()
  }

  const isOwn = ({ accessToken }: TokenPair) => [undefined, userId].includes(subjectOf(accessToken))

  /**
   * Ends the session when the tokens belong to somebody else, because tabs share a store or a cookie and somebody else may have signed in
   * there. The requests of this client must not be sent in their name. @throws RequestFailed 401
   */
  function requireOwn(pair: TokenPair): TokenPair {
    userId ??= subjectOf(pair.accessToken)
    if (!isOwn(pair)) throw end()
    return pair
  }

  /** Begins a session after a successful sign-in. */
  function begin(pair: TokenPair) {
    signIns++
    refreshing = undefined
    signedOut = false
    userId = subjectOf(pair.accessToken)
    tokens.write(pair)
  }

  /** The id of the session's person, from the access token. @throws the same errors as `accessToken`. */
  async function requireUserId(): Promise<string> {
    await accessToken()
    return userId!
  }

  return {
    authorized,
    requireUserId,
    /** The id of the session's person, if it is known without a request. */
    knownUserId: () => userId,
    begin,
    end,
    isSignedOut: () => signedOut,
    cookieHeader,
  }
}

const endOfSession = () => new RequestFailed(401, 'Please sign in', { code: 'unauthorized' })

/** The `sub` claim of a token. Undefined when the token cannot be read. */
function subjectOf(token: string): string | undefined {
  try {
    const [, payload = ''] = token.split('.')
    return (JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as { sub?: string }).sub
  } catch {
    return undefined
  }
}

interface Locks {
  request<T>(name: string, work: () => Promise<T>): Promise<T>
}

/** Runs `work` while no other tab holds the lock of this name. Without Web Locks it runs immediately. */
function withLock<T>(lockName: string | undefined, work: () => Promise<T>): Promise<T> {
  const { locks } = (globalThis.navigator ?? {}) as { locks?: Locks }
  return lockName !== undefined && locks ? locks.request(lockName, work) : work()
}
