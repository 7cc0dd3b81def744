import { createClient, createSyncEngine, storeInMemory, tokensInCookie } from '@parley/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ClientServer } from './journeys.ts'

export function cookieSessionJourneys(server: ClientServer) {
  /** The cookies of a browser, which its tabs share and scripts cannot read. */
  function openBrowser() {
    const cookies = new Map<string, string>()
    const asked: string[] = []
    /** For each path, a promise before its reply is given to the page. */
    const held = new Map<string, Promise<void>>()
    /** For each path, the number of next replies that are 401. */
    const refused = new Map<string, number>()

    /** A request of a page on the server's own origin. */
    const browserFetch: typeof fetch = async (input, init) => {
      const { pathname } = new URL(String(input))
      asked.push(pathname)
      const headers = new Headers(init?.headers)
      if (pathname.startsWith('/auth') && cookies.size > 0) {
        headers.set('cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; '))
      }
      const response = await fetch(input, { ...init, headers })
      const release = held.get(pathname)
      held.delete(pathname)
      await (init?.signal ? Promise.race([release, untilAborted(init.signal)]) : release)
      for (const cookie of response.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!
        if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(cookie)) cookies.delete(name!)
        else cookies.set(name!, value!)
      }
      const refusals = refused.get(pathname) ?? 0
      refused.set(pathname, refusals - 1)
      return refusals > 0 ? Response.json({ error: 'Please sign in' }, { status: 401 }) : response
    }

    const openPage = (userId?: string) => {
      const told: string[] = []
      const client = createClient({
        baseUrl: server.baseUrl,
        tokens: tokensInCookie(),
        fetch: browserFetch,
        onSignedOut: () => told.push('signed out'),
        ...(userId && { userId }),
      })
      return { client, told }
    }
    /** Delays the next reply of the path until the returned function is called. */
    function hold(path: string) {
      const { promise, resolve } = Promise.withResolvers<void>()
      held.set(path, promise)
      return { release: resolve, isAsked: () => expect.poll(() => held.has(path)).toBe(false) }
    }
    return { openPage, hold, refused, asked, cookies }
  }

  const email = (name: string) => ({ body: { email: `${name}@example.com` } })

  test('a sign-in stores the refresh token in a cookie, and later pages use it', async () => {
    const browser = openBrowser()
    const first = browser.openPage()
    const response = await first.client.signIn('POST /auth/dev-login', email('hal'))
    expect(response).not.toHaveProperty('refreshToken')
    expect([...browser.cookies.keys()].filter((name) => name === 'parley_session')).toHaveLength(1)
    expect((await first.client.request('GET /auth/me')).user.userName).toBe('hal')
    expect(browser.asked).not.toContain('/auth/refresh')

    // After a reload only the cookie is left.
    const pages = [browser.openPage(), browser.openPage(), browser.openPage()]
    const responses = await Promise.all(pages.map(({ client }) => client.request('GET /auth/me')))
    expect(responses.map(({ user }) => user.userName)).toEqual(['hal', 'hal', 'hal'])
  })

  test('signing out ends the session and removes the cookie, with one notification', async () => {
    const browser = openBrowser()
    const { client, told } = browser.openPage()
    await client.signIn('POST /auth/dev-login', email('ivy'))
    await client.signOut()
    expect(told).toEqual(['signed out'])
    await expect(client.request('GET /auth/me')).rejects.toMatchObject({ status: 401 })
    const later = browser.openPage()
    await expect(later.client.request('GET /auth/me')).rejects.toMatchObject({ status: 401 })
    expect(later.told).toEqual(['signed out'])
  })

  test('a refresh without a response is sent again, and the session continues', async () => {
    const timers: AbortController[] = []
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
      timers.push(new AbortController())
      return timers.at(-1)!.signal
    })
    onTestFinished(() => timeout.mockRestore())
    const browser = openBrowser()
    const id = await browser.openPage().client.signIn('POST /auth/dev-login', email('ivo'))
    const { client, told } = browser.openPage()
    const { isAsked } = browser.hold('/auth/refresh')
    const userId = client.userId()
    await isAsked()
    timers[0]!.abort()
    expect(await userId).toBe('user' in id && id.user.id)
    expect(told).toEqual([])
  })

  test('a refresh that began before the next sign-in does not end the new session', async () => {
    const browser = openBrowser()
    const { client, told } = browser.openPage()
    await client.signIn('POST /auth/dev-login', email('lea'))
    const other = browser.openPage()
    await other.client.signOut()
    const refresh = browser.hold('/auth/refresh')
    const late = client.request('GET /channels')
    late.catch(() => {})
    await refresh.isAsked()
    await client.signIn('POST /auth/dev-login', email('lea'))
    refresh.release()
    await expect(late).rejects.toMatchObject({ status: 401 })
    expect((await client.request('GET /auth/me')).user.userName).toBe('lea')
    expect(told).toEqual([])
  })

  test('a request of one person is not sent again in the name of the next one', async () => {
    const browser = openBrowser()
    const { client, told } = browser.openPage()
    await client.signIn('POST /auth/dev-login', email('max'))
    await browser.openPage().client.signOut()
    const asked = browser.hold('/auth/me')
    const late = client.request('GET /auth/me')
    late.catch(() => {})
    await asked.isAsked()
    await client.signIn('POST /auth/dev-login', email('nia'))
    asked.release()
    await expect(late).rejects.toMatchObject({ status: 401 })
    expect((await client.request('GET /auth/me')).user.userName).toBe('nia')
    expect(told).toEqual([])
  })

  test('a request that is refused twice does not end the session of the next sign-in', async () => {
    const browser = openBrowser()
    const { client, told } = browser.openPage()
    await client.signIn('POST /auth/dev-login', email('ole'))
    browser.refused.set('/auth/me', 2)
    const refresh = browser.hold('/auth/refresh')
    const late = client.request('GET /auth/me')
    late.catch(() => {})
    await refresh.isAsked()
    const second = browser.hold('/auth/me')
    refresh.release()
    await second.isAsked()
    await client.signIn('POST /auth/dev-login', email('pam'))
    second.release()
    await expect(late).rejects.toMatchObject({ status: 401 })
    expect((await client.request('GET /auth/me')).user.userName).toBe('pam')
    expect(told).toEqual([])
  })

  test('a page whose cookie has become that of somebody else sends nothing in their name', async () => {
    const browser = openBrowser()
    const first = browser.openPage()
    await first.client.signIn('POST /auth/dev-login', email('jon'))
    const { user } = await first.client.request('GET /auth/me')
    const store = storeInMemory()
    await store.putOutbox({
      id: crypto.randomUUID(),
      userId: user.id,
      channelId: server.channel.general.id,
      body: { content: 'of jon' },
      createdAt: Date.now(),
      state: 'waiting',
    })
    await browser.openPage().client.signIn('POST /auth/dev-login', email('kim'))

    // After a reload of Jon's page its cookie is Kim's.
    const left = Promise.withResolvers<void>()
    const again = browser.openPage(user.id)
    const engine = createSyncEngine({ client: again.client, userId: user.id, store, onSignedOut: () => left.resolve() })
    await left.promise
    engine.close()
    expect(again.told).toEqual(['signed out'])
    expect(await store.readOutbox()).toMatchObject([{ body: { content: 'of jon' } }])
    const { body } = await server.people.ann.get(`/channels/${server.channel.general.id}/messages`)
    expect(body.messages.map(({ content }: { content: string }) => content)).not.toContain('of jon')
    // Kim is signed in nevertheless.
    expect((await browser.openPage().client.request('GET /auth/me')).user.userName).toBe('kim')
  })
}

/** Rejects when the signal is aborted, as `fetch` does. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
