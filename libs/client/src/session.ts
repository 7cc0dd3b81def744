import { jittered, pause } from './backoff.ts'
import { RequestFailed } from './request-failed.ts'
import type { TokenPair, TokenStore } from './tokens.ts'

export interface SessionOptions {
  baseUrl: string
  tokens: TokenStore
  /** Told once, when the session has ended and only a new sign-in helps. */
  onSignedOut?: (() => void) | undefined
  fetch: typeof fetch
}

export type Session = ReturnType<typeof createSession>

const refreshTries = 6
const backoff = { firstMs: 250, mostMs: 8_000 }

/** The tokens of one signed-in person, refreshed for every request and stream that use them: once, however many ask. */
export function createSession({ baseUrl, tokens, onSignedOut = () => {}, fetch }: SessionOptions) {
  let refreshing: Promise<TokenPair> | undefined
  let signedOut = false

  /** @throws RequestFailed 401 when the session has ended. */
  function accessToken(): string {
    const pair = signedOut ? undefined : tokens.read()
    // Whoever shares the store, another tab perhaps, has found out: it is over here too.
    if (!pair) throw end()
    return pair.accessToken
  }

  /**
   * Another access token than this one, which was refused.
   * @throws RequestFailed 401 when the session has ended, any other when the server cannot tell right now.
   */
  async function renew(refused: string): Promise<string> {
    if (signedOut) throw endOfSession()
    const known = tokens.read()
    if (known && known.accessToken !== refused) return known.accessToken
    refreshing ??= alone(tokens.lockName, () => refresh(refused)).finally(() => {
      refreshing = undefined
    })
    return (await refreshing).accessToken
  }

  async function refresh(refused: string): Promise<TokenPair> {
    // Whoever had the lock before, another tab perhaps, may have done it already.
    const pair = tokens.read()
    if (pair && pair.accessToken !== refused) return pair
    if (!pair?.refreshToken) throw end()

    // Safe to repeat: within a minute the server answers the same token with the same successor.
    for (let attempt = 0; ; attempt++) {
      const failure = await ask(pair.refreshToken).then(
        (fresh) => {
          tokens.write(fresh)
          return fresh
        },
        (error: RequestFailed) => error,
      )
      if (!(failure instanceof RequestFailed)) return failure
      if (failure.status === 401 || failure.status === 400) throw end()
      if (attempt + 1 >= refreshTries) throw failure
      await pause(Math.max((failure.retryAfter ?? 0) * 1_000, jittered(attempt, backoff)))
    }
  }

  async function ask(refreshToken: string): Promise<TokenPair> {
    const response = await fetch(`${baseUrl}/auth/refresh`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
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

  /** The session is over, whether it was found out here or by a fresh token that is refused as well. */
  function end(): RequestFailed {
    if (!signedOut) {
      signedOut = true
      if (tokens.read()) tokens.write(undefined)
      onSignedOut()
    }
    return endOfSession()
  }

  return { accessToken, renew, end, isSignedOut: () => signedOut }
}

const endOfSession = () => new RequestFailed(401, 'Please sign in', { code: 'unauthorized' })

interface Locks {
  request<T>(name: string, work: () => Promise<T>): Promise<T>
}

/** One at a time among everybody who uses this name, where the platform has Web Locks. */
function alone<T>(lockName: string | undefined, work: () => Promise<T>): Promise<T> {
  const { locks } = (globalThis.navigator ?? {}) as { locks?: Locks }
  return lockName !== undefined && locks ? locks.request(lockName, work) : work()
}
