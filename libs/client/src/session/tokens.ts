import { parseJson } from '../store/json.ts'

/** The tokens of a session. Without a refresh token, the client is signed out when the access token expires. */
export interface TokenPair {
  accessToken: string
  refreshToken?: string | undefined
}

/** Stores the tokens of a client. When one client refreshes the tokens, all clients with the same store use the new ones. */
export interface TokenStore {
  read(): TokenPair | undefined
  /** `undefined` removes the tokens when the session has ended. */
  write(tokens: TokenPair | undefined): void
  /** The name of a Web Lock, if several pages use the same tokens. Only one of them refreshes at a time. */
  readonly lockName?: string
  /** Set if the refresh token is in an HttpOnly cookie of the browser. Then `read` returns only the access token. */
  readonly isCookie?: true
}

/** For one process. `onTokens` is called after every change, so that the program can store the tokens. */
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

/** The part of `localStorage` that the token store uses. */
export interface TextStorage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/** For a browser: all tabs of the origin use the same tokens, and one tab refreshes them for all. */
export function tokensInStorage(storage: TextStorage, key = 'parley.tokens'): TokenStore {
  return {
    lockName: `parley.refresh:${key}`,
    read() {
      const text = storage.getItem(key)
      return text === null ? undefined : parseTokens(text)
    },
    write(tokens) {
      if (tokens === undefined) storage.removeItem(key)
      else storage.setItem(key, JSON.stringify(tokens))
    },
  }
}

/** Undefined when another program has written the text, so that the person signs in again instead of getting an error. */
function parseTokens(text: string): TokenPair | undefined {
  const tokens = parseJson(text) as TokenPair | null | undefined
  return typeof tokens?.accessToken === 'string' ? tokens : undefined
}

/**
 * For a page that the server itself serves: the access token is only in the memory of the page, and the refresh token only in a cookie
 * that scripts cannot read. The first request of a page refreshes the access token. Tabs refresh one after the other.
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
