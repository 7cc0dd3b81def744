import { jittered, pause } from '../requests/backoff.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import type { TokenPair, TokenStore } from './tokens.ts'

export interface SessionOptions {
  baseUrl: string
  tokens: TokenStore
  /** The person of the session, when that is known already. A token of somebody else ends the session. */
  userId?: string | undefined
  /** Told once, when the session has ended and only a new sign-in helps. */
  onSignedOut?: (() => void) | undefined
  fetch: typeof fetch
}

export type Session = ReturnType<typeof createSession>

const refreshTries = 6
const backoff = { firstMs: 250, mostMs: 8_000 }

/** The tokens of one signed-in person. All requests and streams that use them share one refresh at a time. */
export function createSession({ baseUrl, tokens, onSignedOut = () => {}, fetch, ...options }: SessionOptions) {
  let { userId } = options
  let refreshing: Promise<TokenPair> | undefined
  let signedOut = false
  /** How many sign-ins have succeeded here. What began before the last one says nothing about its session. */
  let signIns = 0
  const headers: Record<string, string> = tokens.isCookie ? { 'x-parley-session': 'cookie' } : {}

  /** @throws RequestFailed 401 when the session has ended. */
  async function accessToken(): Promise<string> {
    if (signedOut) throw endOfSession()
    const pair = tokens.read()
    if (pair) return own(pair).accessToken
    if (tokens.isCookie) return renew(undefined)
    // Another tab or client that shares the store has ended the session.
    throw end()
  }

  /**
   * Another access token than this one, which was refused.
   * @throws RequestFailed 401 when the session has ended, any other when the server cannot tell right now.
   */
  async function renew(refused: string | undefined): Promise<string> {
    if (signedOut) throw endOfSession()
    const known = tokens.read()
    if (known && known.accessToken !== refused) return own(known).accessToken
    refreshing ??= alone(tokens.lockName, () => refresh(refused)).finally(() => {
      refreshing = undefined
    })
    return own(await refreshing).accessToken
  }

  /**
   * Sends with the access token, once more with a fresh one when that is refused. A fresh token that is refused ends the session.
   * @param author the person in whose name it is sent, and in no other: somebody else may sign in meanwhile.
   * @throws RequestFailed as `renew`, and what `send` throws.
   */
  async function authorized(send: (token: string) => Promise<Response>, author = userId): Promise<Response> {
    const sendAsAuthor = (token: string) => {
      if (author !== undefined && author !== userId) throw endOfSession()
      return send(token)
    }
    const begun = signIns
    const token = await accessToken()
    const response = await sendAsAuthor(token)
    if (response.status !== 401) return response
    await response.body?.cancel()
    const second = await sendAsAuthor(await renew(token))
    if (second.status === 401) throw end(begun)
    return second
  }

  async function refresh(refused: string | undefined): Promise<TokenPair> {
    const begun = signIns
    // The previous holder of the lock, another tab perhaps, may have refreshed already.
    const pair = tokens.read()
    if (pair && pair.accessToken !== refused) return pair
    if (!pair?.refreshToken && !tokens.isCookie) throw end()

    // Safe to repeat: within a minute the server answers the same token with the same successor.
    for (let tries = 0; ; tries++) {
      const answer = await requestTokens(pair?.refreshToken).catch((error: RequestFailed) => error)
      if (begun !== signIns) throw endOfSession()
      if (!(answer instanceof RequestFailed)) {
        tokens.write(answer)
        return answer
      }
      if ([400, 401].includes(answer.status)) throw end()
      if (tries + 1 >= refreshTries) throw answer
      await pause((answer.retryAfter ?? 0) * 1_000 + jittered(tries, backoff))
    }
  }

  async function requestTokens(refreshToken: string | undefined): Promise<TokenPair> {
    const response = await fetch(`${baseUrl}/auth/refresh`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ refreshToken }),
    }).catch((error) => {
      throw RequestFailed.noAnswer(error)
    })
    if (!response.ok) throw await RequestFailed.from(response)
    const { accessToken, refreshToken: next } = (await response.json().catch((error) => {
      throw RequestFailed.noAnswer(error)
    })) as TokenPair
    return { accessToken, refreshToken: next }
  }

  /**
   * Ends the session that `begun` names here, however its end became known: not the one of a later sign-in. Answers the error for
   * whoever asked.
   */
  function end(begun = signIns): RequestFailed {
    if (!signedOut && begun === signIns) {
      signedOut = true
      const pair = tokens.read()
      if (pair && isOwn(pair)) tokens.write(undefined)
      onSignedOut()
    }
    return endOfSession()
  }

  const isOwn = ({ accessToken }: TokenPair) => [undefined, userId].includes(subjectOf(accessToken))

  /**
   * Tabs share a store or a cookie. When somebody else has signed in there, what this client has to send must not go out in
   * their name. @throws RequestFailed 401
   */
  function own(pair: TokenPair): TokenPair {
    userId ??= subjectOf(pair.accessToken)
    if (!isOwn(pair)) throw end()
    return pair
  }

  /** A sign-in has succeeded. */
  function begin(pair: TokenPair) {
    signIns++
    refreshing = undefined
    signedOut = false
    userId = subjectOf(pair.accessToken)
    tokens.write(pair)
  }

  /** Whose session it is: the access token says so. @throws as `accessToken`. */
  async function owner(): Promise<string> {
    await accessToken()
    return userId!
  }

  return { authorized, owner, author: () => userId, begin, end, isSignedOut: () => signedOut, headers }
}

const endOfSession = () => new RequestFailed(401, 'Please sign in', { code: 'unauthorized' })

/** The `sub` claim of a token; undefined when it is none that can be read. */
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

/** One at a time among everybody who uses this name, where the platform has Web Locks. */
function alone<T>(lockName: string | undefined, work: () => Promise<T>): Promise<T> {
  const { locks } = (globalThis.navigator ?? {}) as { locks?: Locks }
  return lockName !== undefined && locks ? locks.request(lockName, work) : work()
}
