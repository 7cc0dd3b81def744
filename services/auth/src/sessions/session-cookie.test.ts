import { type HttpResponse, Person } from '@parley/test'
import { beforeEach, describe, expect, test } from 'vitest'
import { runningAuth } from '../auth.testing.ts'

const asCookie = { 'x-parley-session': 'cookie' }
const email = 'ann@example.com'
const password = 'a long enough password'
const tokensWithoutRefresh = { accessToken: expect.any(String), exp: 900, tokenType: 'Bearer' }

const server = runningAuth({ auth: { authMode: 'password', isInviteRequired: false, maxActiveSessions: 1_000 } })

/** The `Set-Cookie` of the session, undefined when the response sets none. */
const sessionCookie = ({ headers }: HttpResponse) =>
  [headers['set-cookie'] ?? []].flat().find((line) => /^(__Secure-)?parley_session=/.test(line))
const cookieOf = (response: HttpResponse) => sessionCookie(response)!.split(';')[0]!
const isCleared = (response: HttpResponse) =>
  /^parley_session=; .*Expires=Thu, 01 Jan 1970/.test(sessionCookie(response) ?? '')
/** The cookie that shows the page that there is a session. */
const markOf = ({ headers }: HttpResponse) =>
  [headers['set-cookie'] ?? []].flat().find((line) => /^(__Secure-)?parley_signed_in=/.test(line))

const post = (path: string, body: unknown, headers: object = asCookie) => server.nobody.post(path, body, headers)
const refresh = (cookie: string | undefined, headers: object = asCookie, body: unknown = {}) =>
  post('/auth/refresh', body, { ...headers, ...(cookie && { cookie }) })

let people = 0
let ann: Person
let first: string
/** A person with a new account who signed in with a cookie. */
async function signsIn() {
  const response = await post('/auth/register', { email: `person${++people}@example.com`, password })
  expect(response.status).toBe(200)
  const person = new Person(server.nobody.baseUrl, { id: '', userName: '' }, response.body.accessToken)
  return { person, cookie: cookieOf(response) }
}
beforeEach(async () => {
  const { person, cookie } = await signsIn()
  ann = person
  first = cookie
})
const isSignedIn = async (person = ann) => (await person.get('/auth/me')).status === 200

describe('a sign-in with X-Parley-Session: cookie', () => {
  test('by registration and by password sets the cookie and returns no refresh token', async () => {
    for (const path of ['/auth/register', '/auth/password-login']) {
      const response = await post(path, { email, password })
      expect([path, response.status, response.body]).toEqual([path, 200, tokensWithoutRefresh])
      expect(sessionCookie(response)).toMatch(
        /^parley_session=[\w.-]+; Max-Age=604800; Path=\/auth; HttpOnly; SameSite=Strict$/,
      )
      expect(markOf(response)).toBe('parley_signed_in=1; Max-Age=604800; Path=/; SameSite=Lax')
      expect(response.headers['cache-control']).toBe('no-store')
    }
  })

  test('without the header returns the refresh token and sets no session cookie', async () => {
    const response = await post('/auth/password-login', { email, password }, {})
    expect(response.body).toEqual({ ...tokensWithoutRefresh, refreshToken: expect.any(String) })
    expect([sessionCookie(response), markOf(response)]).toEqual([undefined, undefined])
  })

  test('with another value of the header is refused', async () => {
    const response = await post('/auth/password-login', { email, password }, { 'x-parley-session': 'token' })
    expect(response).toMatchObject({
      status: 400,
      body: { error: 'The header X-Parley-Session must be one of cookie' },
    })
  })
})

describe('a refresh with the cookie', () => {
  test('returns an access token and the next cookie, also when it is repeated in time', async () => {
    const response = await refresh(first)
    expect([response.status, response.body]).toEqual([200, tokensWithoutRefresh])
    const second = cookieOf(response)
    expect(second).not.toBe(first)

    server.pass(59_000)
    expect(cookieOf(await refresh(first))).toBe(second)
    expect((await refresh(second)).status).toBe(200)
  })

  test('of two tabs at once gives both the same cookie', async () => {
    const [one, two] = await Promise.all([refresh(first), refresh(first)])
    expect([one.status, two.status]).toEqual([200, 200])
    expect(cookieOf(one)).toBe(cookieOf(two))
    expect((await refresh(cookieOf(two))).status).toBe(200)
  })

  test('with an old cookie ends the session and removes the cookie', async () => {
    const second = cookieOf(await refresh(first))
    await refresh(second)
    const reused = await refresh(first)
    expect([reused.status, isCleared(reused), await isSignedIn()]).toEqual([401, true, false])
  })

  test.each([
    ['of an ended session', async () => void (await ann.post('/auth/logout', {})), () => first],
    ['of an expired session', async () => server.pass(604_801_000), () => first],
    ['that nobody has signed', async () => {}, () => `${first}x`],
    ['that is missing', async () => {}, () => undefined],
  ])('%s is 401 and removes the cookie', async (_what, prepare, cookie) => {
    await prepare()
    const response = await refresh(cookie())
    expect([response.status, isCleared(response)]).toEqual([401, true])
    expect(markOf(response)).toMatch(/^parley_signed_in=; .*Expires=Thu, 01 Jan 1970/)
  })

  test('that two domains have set is 401, because the server cannot tell which one is its own', async () => {
    const { cookie: planted } = await signsIn()
    expect((await refresh(`${planted}; ${first}`)).status).toBe(401)
    expect((await refresh(`theme=dark; ${first}`)).status).toBe(200)
  })

  test('is not used when there is a token in the body', async () => {
    const { body } = await post('/auth/password-login', { email, password }, {})
    const response = await refresh(first, asCookie, { refreshToken: body.refreshToken })
    expect([response.status, response.body]).toEqual([200, tokensWithoutRefresh])
    const [sessionId] = body.refreshToken.split('.')
    expect(cookieOf(response)).toContain(sessionId)

    const refused = await refresh(first, asCookie, { refreshToken: 'nonsense' })
    expect([refused.status, sessionCookie(refused)]).toEqual([401, undefined])
    expect((await refresh(first)).status).toBe(200)
  })
})

describe('a logout with the cookie', () => {
  const logout = (headers: object, person = server.nobody) => person.post('/auth/logout', {}, headers)

  test.each([
    ['with an access token', () => ann],
    ['without an access token', () => server.nobody],
  ])('%s ends the session and removes the cookie', async (_what, person) => {
    const response = await logout({ ...asCookie, cookie: first }, person())
    expect([response.status, isCleared(response)]).toEqual([200, true])
    expect(await isSignedIn()).toBe(false)
    expect((await refresh(first)).status).toBe(401)
    expect((await logout({ ...asCookie, cookie: first })).status).toBe(200)
  })

  test('of somebody else ends only the caller’s session and leaves the cookie', async () => {
    const other = await signsIn()
    const response = await logout({ ...asCookie, cookie: other.cookie }, ann)
    expect([response.status, sessionCookie(response)]).toEqual([200, undefined])
    expect([await isSignedIn(), await isSignedIn(other.person)]).toEqual([false, true])
    expect((await refresh(other.cookie)).status).toBe(200)
  })

  test('ends the session of the access token too when it is another one of the same person', async () => {
    const credentials = { email: `person${people}@example.com`, password }
    const again = await post('/auth/password-login', credentials)
    const later = new Person(server.nobody.baseUrl, { id: '', userName: '' }, again.body.accessToken)
    await logout({ ...asCookie, cookie: first }, later)
    expect([await isSignedIn(), await isSignedIn(later)]).toEqual([false, false])
  })

  test.each([
    ['that nobody has signed', 'parley_session=nonsense'],
    ['that is missing', ''],
  ])('%s is 401 without an access token', async (_what, cookie) => {
    const response = await logout({ ...asCookie, cookie })
    expect([response.status, isCleared(response)]).toEqual([401, true])
  })
})

test('a logout with a token in its body does not change the cookie', async () => {
  for (const refreshToken of ['', 'a', 'nonsense']) {
    const response = await server.nobody.post('/auth/logout', { refreshToken }, { ...asCookie, cookie: first })
    expect([response.status, sessionCookie(response)]).toEqual([401, undefined])
  }
  expect((await refresh(first)).status).toBe(200)
})

describe('forged requests with the cookie', () => {
  test.each([
    ['a form', 'application/x-www-form-urlencoded', 'a=b'],
    ['an empty form', 'application/x-www-form-urlencoded', ''],
    ['a form of plain text', 'text/plain', '{"a":"b"}'],
    ['JSON', 'application/json', '{}'],
    ['nothing', undefined, undefined],
  ])('%s without the header neither refreshes nor signs out', async (_what, type, body) => {
    for (const path of ['/auth/refresh', '/auth/logout']) {
      const response = await post(path, body, { cookie: first, ...(type && { 'content-type': type }) })
      expect([400, 401]).toContain(response.status)
      expect(sessionCookie(response)).toBeUndefined()
    }
    expect(await isSignedIn()).toBe(true)
    expect(cookieOf(await refresh(first))).toMatch(/\.1\./)
  })

  test.each(['/auth/me', '/auth/sessions'])('%s does not accept the cookie as an access token', async (path) => {
    expect((await server.nobody.get(path, { ...asCookie, cookie: first })).status).toBe(401)
  })
})

describe('behind https with a path', () => {
  const appUrl = 'https://example.com/chat/'
  const https = runningAuth({ auth: { authMode: 'dev', isInviteRequired: false, appUrl } })

  test('the cookie is Secure, by its name too, and belongs to the paths that the browser sees', async () => {
    const response = await https.nobody.post('/auth/dev-login', { email }, asCookie)
    expect(response.body).toEqual({ user: expect.any(Object), token: expect.any(String) })
    expect(sessionCookie(response)).toMatch(
      /^__Secure-parley_session=[\w.-]+; Max-Age=604800; Path=\/chat\/auth; HttpOnly; Secure; SameSite=Strict$/,
    )
    expect(markOf(response)).toBe('__Secure-parley_signed_in=1; Max-Age=604800; Path=/chat; Secure; SameSite=Lax')
    const next = await https.nobody.post('/auth/refresh', {}, { ...asCookie, cookie: cookieOf(response) })
    expect(next.status).toBe(200)
    const withoutPrefix = cookieOf(next).replace('__Secure-', '')
    expect(await https.nobody.post('/auth/refresh', {}, { ...asCookie, cookie: withoutPrefix })).toMatchObject({
      status: 401,
    })
  })
})
