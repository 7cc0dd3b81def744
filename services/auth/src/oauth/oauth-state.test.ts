import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { appUrl, type Browser } from '@parley/test/browser'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { customProvider, startProvider } from './provider-servers.testing.ts'
import { running } from './running.testing.ts'

const provider = await startProvider()
afterAll(() => provider.close())

const custom = [
  customProvider('one', provider.url),
  customProvider('two', `${provider.url}`),
  { ...customProvider('local', provider.url), redirectUri: 'http://127.0.0.1:4000/auth/oauth/local/callback' },
]
const server = running({ auth: { isInviteRequired: false }, oauth: { custom } })
const start = `${appUrl}/auth/oauth/one`
const callback = /\/callback$/
const refusal = { oauth_error: expect.any(String), oauth_error_code: 'invalid_state' }
const success = { access_token: expect.any(String), refresh_token: expect.any(String), expires_in: '900' }

let browser: Browser
beforeEach(() => {
  browser = server.browser()
  provider.asked.length = 0
})
const codesExchanged = () => provider.asked.filter(({ path }) => path === '/token').length

describe('the start', () => {
  test('sends the browser to the provider with a state and PKCE, and with a cookie that no script reads', async () => {
    const { status, location, headers } = await browser.visit(start)
    expect(status).toBe(302)
    const { origin, pathname, searchParams } = new URL(location!)
    expect(origin + pathname).toBe(`${provider.url}/authorize`)
    expect(Object.fromEntries(searchParams)).toEqual({
      response_type: 'code',
      client_id: 'a-client',
      redirect_uri: `${appUrl}/auth/oauth/one/callback`,
      scope: 'email',
      state: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    })
    expect(headers.get('set-cookie')).toMatch(
      /^parley_oauth_[\w-]{8}=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    expect(headers.get('cache-control')).toBe('no-store')
  })

  test('stores neither the state nor the cookie in the clear', async () => {
    const { location } = await browser.visit(start)
    const state = new URL(location!).searchParams.get('state')!
    const stateHash = createHash('sha256').update(state).digest()
    const rows = await server.deps.db.selectFrom('oauthStates').selectAll().where('stateHash', '=', stateHash).execute()
    expect(rows).toMatchObject([{ providerId: 'one', ip: browser.ip }])
    expect(JSON.stringify(rows)).not.toContain(state)
    expect(JSON.stringify(rows)).not.toContain([...browser.cookies.values()][0])
  })

  test.for([
    ['localhost:4000', '?session=cookie', 'http://127.0.0.1:4000/auth/oauth/local?session=cookie'],
    ['[::1]:4000', '?session=cookie', 'http://127.0.0.1:4000/auth/oauth/local?session=cookie'],
    ['127.0.0.1:4000', '?session=cookie', `${provider.url}/authorize`],
    // A proxy may send its own name for the server.
    ['localhost:3000', '?session=cookie', `${provider.url}/authorize`],
    // A program gets the tokens, and reads the address of the provider from the first response.
    ['localhost:4000', '', `${provider.url}/authorize`],
  ] as const)(
    'at %s%s leads to %s, so that a browser has the cookies at the callback',
    async ([host, query, target]) => {
      // fetch does not send another Host.
      const request = get(`${server.baseUrl}/auth/oauth/local${query}`, { headers: { host } })
      const [{ statusCode, headers }] = (await once(request, 'response')) as [IncomingMessage]
      expect({ statusCode, target: headers.location?.slice(0, target.length) }).toEqual({ statusCode: 302, target })
    },
  )

  test('at an unknown provider is 404', async () => {
    expect(await browser.visit(`${appUrl}/auth/oauth/nobody`)).toMatchObject({ status: 404 })
    expect(await browser.visit(`${appUrl}/auth/oauth/nobody/callback?code=a&state=b`)).toMatchObject({ status: 404 })
  })

  test('deletes expired sign-ins', async () => {
    await browser.visit(start)
    server.pass(600_000)
    await browser.visit(start)
    const { count } = await server.deps.db
      .selectFrom('oauthStates')
      .select((given) => given.fn.countAll().as('count'))
      .executeTakeFirstOrThrow()
    expect(Number(count)).toBe(1)
  })
})

describe('HEAD', () => {
  const ask = (path: string) =>
    fetch(server.baseUrl + path, { method: 'HEAD', redirect: 'manual', headers: { 'x-forwarded-for': browser.ip } })

  test('of a callback leads to the application and leaves the sign-in as it is', async () => {
    const back = await browser.reach(start, callback)
    const { status, headers } = await ask(back.slice(appUrl.length))
    expect([status, headers.get('location'), headers.get('set-cookie')]).toEqual([302, `${appUrl}/`, null])
    expect(await browser.arrive(back)).toEqual(success)
  })

  test('of a start begins no sign-in, also when it is repeated', async () => {
    for (let times = 0; times < 11; times++) expect((await ask('/auth/oauth/one')).status).toBe(302)
    expect(await browser.visit(start)).toMatchObject({ status: 302, location: expect.stringContaining(provider.url) })
  })

  test('at an unknown provider is 404', async () => {
    for (const path of ['/auth/oauth/nobody', '/auth/oauth/nobody/callback']) expect((await ask(path)).status).toBe(404)
  })
})

describe('a sign-in with session=cookie', () => {
  const cookieStart = `${start}?session=cookie`

  test('leads to the application with nothing in its address, and sets the session cookie', async () => {
    const back = await browser.reach(cookieStart, callback)
    const { status, location, headers } = await browser.visit(back)
    expect([status, location]).toEqual([302, `${appUrl}/`])
    const set = headers.getSetCookie().find((line) => line.startsWith('parley_session='))
    expect(set).toMatch(/; Max-Age=604800; Path=\/auth; HttpOnly; SameSite=Strict$/)

    const cookie = set!.split(';')[0]!
    const response = await server.nobody.post('/auth/refresh', {}, { cookie, 'x-parley-session': 'cookie' })
    expect(await server.whoIs(response.body.accessToken)).toMatchObject({ status: 200 })
  })

  test('that fails leads back with the reason and sets no session cookie', async () => {
    const back = await browser.reach(cookieStart, callback)
    browser.cookies.clear()
    const { location, headers } = await browser.visit(back)
    expect(Object.fromEntries(new URL(location!).searchParams)).toEqual(refusal)
    expect(headers.get('set-cookie')).toBe(null)
  })

  test.each([
    ['a started cookie sign-in', cookieStart, (value: string) => value.replace('.cookie', '')],
    ['a started token sign-in', start, (value: string) => `${value}.cookie`],
  ])('%s cannot be turned into the other kind', async (_what, from, change) => {
    const back = await browser.reach(from, callback)
    for (const [name, value] of browser.cookies) browser.cookies.set(name, change(value))
    expect(await browser.arrive(back)).toEqual(refusal)
  })

  test('another value is refused', async () => {
    expect(await browser.visit(`${start}?session=token`)).toMatchObject({ status: 400 })
  })
})

describe('a callback', () => {
  test('with the state of this browser leads to the application with tokens, and removes the cookie', async () => {
    const back = await browser.reach(start, callback)
    expect(browser.cookies.size).toBe(1)
    expect(await browser.arrive(back)).toEqual(success)
    expect(browser.cookies.size).toBe(0)
    const [verifier] = provider.asked
      .filter(({ path }) => path === '/token')
      .map(({ form }) => form.get('code_verifier'))
    const [challenge] = provider.asked.map(({ form }) => form.get('code_challenge'))
    expect(createHash('sha256').update(verifier!).digest('base64url')).toBe(challenge)
  })

  test('works once', async () => {
    const back = await browser.reach(start, callback)
    const cookies = [...browser.cookies]
    expect(await browser.arrive(back)).toEqual(success)
    for (const [name, value] of cookies) browser.cookies.set(name, value)
    expect(await browser.arrive(back)).toEqual(refusal)
    expect(codesExchanged()).toBe(1)
  })

  test('eight concurrent callbacks: one succeeds', async () => {
    const back = await browser.reach(start, callback)
    const arrivals = await Promise.all(Array.from({ length: 8 }, () => browser.arrive(back)))
    expect(arrivals.filter(({ access_token }) => access_token)).toHaveLength(1)
    expect(arrivals.filter(({ oauth_error_code }) => oauth_error_code === 'invalid_state')).toHaveLength(7)
    expect(codesExchanged()).toBe(1)
  })

  test('two sign-ins in two tabs do not disturb each other', async () => {
    const [first, second] = [await browser.reach(start, callback), await browser.reach(start, callback)]
    expect(await browser.arrive(second)).toEqual(success)
    expect(await browser.arrive(first)).toEqual(success)
  })

  test('works for ten minutes', async () => {
    const [early, late] = [await browser.reach(start, callback), await browser.reach(start, callback)]
    server.pass(590_000)
    expect(await browser.arrive(early)).toEqual(success)
    server.pass(11_000)
    expect(await browser.arrive(late)).toEqual(refusal)
  })

  test('does not work from another address, and never again after that', async () => {
    const back = await browser.reach(start, callback)
    const elsewhere = server.browser()
    for (const [name, value] of browser.cookies) elsewhere.cookies.set(name, value)
    expect(await elsewhere.arrive(back)).toEqual(refusal)
    expect(await browser.arrive(back)).toEqual(refusal)
    expect(codesExchanged()).toBe(0)
  })

  test.each([
    ['without the cookie', (cookies: Map<string, string>) => cookies.clear()],
    [
      'with another cookie',
      (cookies: Map<string, string>) => {
        for (const name of cookies.keys()) cookies.set(name, 'A'.repeat(43))
      },
    ],
  ])('does not work %s', async (_, change) => {
    const back = await browser.reach(start, callback)
    change(browser.cookies)
    expect(await browser.arrive(back)).toEqual(refusal)
    expect(codesExchanged()).toBe(0)
  })

  test('does not work at another provider', async () => {
    const back = await browser.reach(start, callback)
    expect(await browser.arrive(back.replace('/one/', '/two/'))).toEqual(refusal)
    expect(codesExchanged()).toBe(0)
  })

  test.each([
    ['no state', '?code=a', 'invalid_state'],
    ['nothing at all', '', 'invalid_state'],
    ['an unknown state', '?code=a&state=b', 'invalid_state'],
    ['two states', '?code=a&state=b&state=c', 'invalid_state'],
    ['half a character', '?code=a&state=%F0%9F', 'invalid_state'],
    ['no code', '?state=$', 'missing_code'],
    ['an empty code', '?code=&state=$', 'missing_code'],
    ['a person who said no', '?error=access_denied&state=$', 'access_denied'],
    ['a provider that refuses', '?error=invalid_scope&error_description=tell-nobody&state=$', 'provider_refused'],
    ['a refusal without a state', '?error=access_denied', 'invalid_state'],
  ])('with %s leads back with a failure', async (_, query, code) => {
    const back = new URL(await browser.reach(start, callback))
    back.search = query.replace('$', back.searchParams.get('state')!)
    const arrived = await browser.arrive(back.href)
    expect(arrived).toEqual({ oauth_error: expect.stringMatching(/^\w.*\.$/), oauth_error_code: code })
    expect(JSON.stringify(arrived)).not.toContain('tell-nobody')
    expect(codesExchanged()).toBe(0)
  })
})

describe('behind https', () => {
  const redirectUri = 'https://chat.example.com/auth/oauth/one/callback'
  const https = running({ oauth: { custom: [{ ...customProvider('one', provider.url), redirectUri }] } })

  test('the cookie cannot be set by a neighbouring domain and is sent only over https', async () => {
    const { headers } = await https.browser().visit(start)
    expect(headers.get('set-cookie')).toMatch(/^__Host-parley_oauth_.*; Path=\/; .*; Secure; /)
  })
})
