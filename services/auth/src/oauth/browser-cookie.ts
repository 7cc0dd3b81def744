/**
 * The cookie that ties a sign-in to the browser that started it. Each sign-in has a name of its own, so that two tabs do
 * not disturb each other. Lax, since the provider's page leads back here; with https also `__Host-`, so that no
 * neighbouring domain can plant one.
 */
export interface BrowserCookie {
  name: string
  isSecure: boolean
}

export const browserCookie = (state: string, redirectUri: string): BrowserCookie => {
  const isSecure = new URL(redirectUri).protocol === 'https:'
  return { name: `${isSecure ? '__Host-' : ''}parley_oauth_${state.slice(0, 8)}`, isSecure }
}

/** The value of `Set-Cookie`; without a value it removes the cookie. */
export const setCookie = ({ name, isSecure }: BrowserCookie, value: string, seconds: number) =>
  `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`

export const removeCookie = (cookie: BrowserCookie) => setCookie(cookie, '', 0)

/** What the request's `Cookie` header says of it. */
export function readCookie({ name }: BrowserCookie, header: string | undefined): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}
