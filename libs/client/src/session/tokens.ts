/** What a client signs in with. Without a refresh token it is signed out once the access token expires. */
export interface TokenPair {
  accessToken: string
  refreshToken?: string | undefined
}

/** Where a client keeps its tokens. Clients that share a store share its refreshes. */
export interface TokenStore {
  read(): TokenPair | undefined
  /** `undefined` when the session has ended. */
  write(tokens: TokenPair | undefined): void
  /** Set when several pages or processes use the same tokens: only one of them refreshes at a time (Web Locks). */
  readonly lockName?: string
  /** The refresh token is in an HttpOnly cookie that the browser keeps and sends; `read` knows only the access token. */
  readonly isCookie?: true
}

/** For one process; `onTokens` is told of every change, so that the program can keep them somewhere. */
export function tokensInMemory(
  tokens: TokenPair,
  onTokens: (tokens: TokenPair | undefined) => void = () => {},
): TokenStore {
  let current: TokenPair | undefined = tokens
  return {
    read: () => current,
    write(next) {
      current = next
      onTokens(next)
    },
  }
}

/** The part of `localStorage` that is needed. */
export interface TextStorage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/** For a browser: all tabs of the origin use the same tokens, and one of them refreshes for all. */
export function tokensInStorage(storage: TextStorage, key = 'parley.tokens'): TokenStore {
  return {
    lockName: `parley.refresh:${key}`,
    read() {
      const text = storage.getItem(key)
      return text === null ? undefined : (JSON.parse(text) as TokenPair)
    },
    write(tokens) {
      if (tokens === undefined) storage.removeItem(key)
      else storage.setItem(key, JSON.stringify(tokens))
    },
  }
}

/**
 * For a browser on the server's own origin: the access token is only in this page's memory, the refresh token only in a cookie
 * that no script can read. The first request of a page refreshes. Tabs refresh one after the other.
 */
export function tokensInCookie(): TokenStore {
  let accessToken: string | undefined
  return {
    isCookie: true,
    lockName: 'parley.refresh:cookie',
    read: () => (accessToken === undefined ? undefined : { accessToken }),
    write(tokens) {
      accessToken = tokens?.accessToken
    },
  }
}
