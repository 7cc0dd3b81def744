export interface Visit {
  status: number
  location: string | null
  headers: Headers
  body: string
}

export interface Browser {
  ip: string
  cookies: Map<string, string>
  /** Loads one page without following its redirect. */
  visit(url: string): Promise<Visit>
  /** Follows redirects until one leads to the application, and returns the query of that address. */
  arrive(url: string): Promise<Record<string, string>>
  /** Follows redirects until one leads to this path, and returns the address without loading it. */
  reach(url: string, path: RegExp): Promise<string>
}

/** The public address of the server. It listens at another address. */
export const appUrl = 'http://chat.localhost'

let browsers = 0

/** A browser with its own client address, behind the proxy that the service trusts. With null it connects directly. */
export function createBrowser(baseUrl: string, ip: string | null = `198.51.100.${++browsers}`): Browser {
  const cookies = new Map<string, string>()

  async function visit(url: string): Promise<Visit> {
    const isOurs = url.startsWith(`${appUrl}/`)
    const { origin } = new URL(url)
    const mine = [...cookies].filter(([key]) => key.startsWith(`${origin} `))
    const response = await fetch(isOurs ? url.replace(appUrl, baseUrl) : url, {
      redirect: 'manual',
      headers: {
        cookie: mine.map(([key, value]) => `${key.slice(origin.length + 1)}=${value}`).join('; '),
        ...(isOurs && ip !== null && { 'x-forwarded-for': ip }),
      },
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) cookies.delete(`${origin} ${name}`)
      else cookies.set(`${origin} ${name}`, value!)
    }
    const location = response.headers.get('location')
    return {
      status: response.status,
      location: location && new URL(location, url).href,
      headers: response.headers,
      body: await response.text(),
    }
  }

  async function reach(url: string, path: RegExp): Promise<string> {
    let next = url
    for (let hop = 0; hop < 10; hop++) {
      const { status, location, body } = await visit(next)
      if (location === null) throw new Error(`${new URL(next).pathname} does not redirect: ${status} ${body}`)
      if (location.startsWith(appUrl) && path.test(new URL(location).pathname)) return location
      next = location
    }
    throw new Error('too many redirects')
  }

  return {
    ip: ip ?? '127.0.0.1',
    cookies,
    visit,
    reach,
    arrive: async (url) => Object.fromEntries(new URL(await reach(url, /^\/$/)).searchParams),
  }
}
