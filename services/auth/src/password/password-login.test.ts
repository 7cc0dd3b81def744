import { countWrongGuess, hashPassword, setPassword } from '@parley/accounts'
import { type HttpResponse, Person } from '@parley/test'
import { beforeEach, describe, expect, test } from 'vitest'
import { runningAuth, tokensOf } from '../auth.testing.ts'

const server = runningAuth({
  auth: { authMode: 'password', isInviteRequired: true, maxActiveSessions: 3 },
  email: { host: 'mail.example.com' },
})
const right = 'correct horse'
const login = (email: unknown, password: unknown, ip = '192.0.2.1', cookie?: string) =>
  server.nobody.post('/auth/password-login', { email, password }, { 'x-forwarded-for': ip, ...(cookie && { cookie }) })
/** The cookies that a browser sends back. */
const cookieOf = ({ headers }: HttpResponse) => String(headers['set-cookie']).split(';')[0]!
const repeated = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))
const statuses = (responses: { status: number }[]) => responses.map(({ status }) => status).sort()
const liveSessions = (userId: string) =>
  server.deps.db.selectFrom('sessions').select('id').where('userId', '=', userId).where('endedAt', 'is', null).execute()

describe('POST /auth/password-login', () => {
  test('signs in a person with the right password, whatever the case of the address', async () => {
    const { id } = await server.invite('ann@example.com', right)
    const response = await login(' ANN@Example.com', right)
    expect(response).toMatchObject({ status: 200, body: tokensOf(900) })
    const ann = new Person(server.nobody.baseUrl, { id, userName: 'ann' }, response.body.accessToken)
    expect(await ann.get('/auth/me')).toMatchObject({ status: 200, body: { user: { id, userName: 'ann' } } })
  })

  test('the same response after the same work for unknown people, people without a password, removed people and wrong passwords', async () => {
    await server.invite('bob@example.com', right)
    await server.invite('without@example.com')
    const { id } = await server.invite('removed@example.com', right)
    await server.deps.db.updateTable('users').set({ removedAt: 1 }).where('id', '=', id).execute()

    const answers = []
    for (const email of ['bob', 'without', 'removed', 'stranger']) {
      const before = server.passwords.begun
      const { status, body } = await login(`${email}@example.com`, 'wrong horse')
      answers.push({ status, error: body.error, code: body.code, derivations: server.passwords.begun - before })
    }
    expect(answers).toEqual(Array(4).fill({ ...answers[0], status: 401, code: 'unauthorized', derivations: 1 }))
    expect(await login('without@example.com', '')).toMatchObject({ status: 401 })
  })

  test.each([
    ['no password', { email: 'ann@example.com' }],
    ['no address', { password: right }],
    ['another type', { email: 'ann@example.com', password: 7 }],
    ['an endless password', { email: 'ann@example.com', password: 'x'.repeat(1_001) }],
    ['something else than an address', { email: 'ann', password: right }],
    ['nothing', undefined],
  ])('%s is 400', async (_, body) => {
    expect(await server.nobody.post('/auth/password-login', body)).toMatchObject({ status: 400 })
  })

  test('the sessions of a person stay within their number when they sign in eight times at once', async () => {
    const { id } = await server.invite('many@example.com', right)
    expect(statuses(await repeated(8, () => login('many@example.com', right)))).toEqual(Array(8).fill(200))
    expect(await liveSessions(id)).toHaveLength(3)
  })

  test('the old password does not sign in when it changes during the check', async () => {
    const { id } = await server.invite('changing@example.com', right)
    const before = server.passwords.begun
    const response = await server.deps.db.transaction().execute(async (trx) => {
      await trx.updateTable('users').set({ passwordHash: 'another' }).where('id', '=', id).execute()
      const asked = { response: login('changing@example.com', right) }
      await expect.poll(() => server.passwords.begun, { interval: 1 }).toBeGreaterThan(before)
      return asked
    })
    expect(await response.response).toMatchObject({ status: 401 })
    expect(await liveSessions(id)).toEqual([])
  })
})

describe('guessing', () => {
  test('ends after ten wrong passwords for an account from one network, exactly', async () => {
    await server.invite('guessed@example.com', right)
    const guesses = await repeated(16, (index) =>
      login('guessed@example.com', `guess ${index}`, `2001:db8:a::${index}`),
    )
    expect(statuses(guesses)).toEqual([...Array(10).fill(401), ...Array(6).fill(429)])

    const before = server.passwords.begun
    const response = await login('guessed@example.com', right, '2001:db8:a::ffff')
    expect(response).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    const seconds = Number(response.headers['retry-after'])
    expect(seconds).toBeGreaterThan(800)
    expect(seconds).toBeLessThanOrEqual(900)
    expect(server.passwords.begun).toBe(before)

    server.pass(900_000)
    expect(await login('guessed@example.com', right, '2001:db8:a::ffff')).toMatchObject({ status: 200 })
  })

  test('in one network does not lock the owner out in another network', async () => {
    await server.invite('owner@example.com', right)
    const guesses = await repeated(12, () => login('owner@example.com', 'wrong horse', '192.0.2.66'))
    expect(statuses(guesses)).toEqual([...Array(10).fill(401), 429, 429])
    expect(await login('owner@example.com', right, '192.0.2.66')).toMatchObject({ status: 429 })
    expect(await login('owner@example.com', right, '192.0.2.67')).toMatchObject({ status: 200 })
  })

  test('from many networks ends after a hundred wrong passwords for an account', async () => {
    await server.invite('famous@example.com', right)
    const cookie = cookieOf(await login('famous@example.com', right))
    const { db, clock } = server.deps
    for (let index = 0; index < 99; index++) {
      const guess = { email: 'famous@example.com', ip: `198.51.100.${index}`, now: clock() }
      await db.transaction().execute((trx) => countWrongGuess(trx, guess))
    }
    expect(await login('famous@example.com', 'wrong horse', '203.0.113.1')).toMatchObject({ status: 401 })
    expect(await login('famous@example.com', right, '203.0.113.2')).toMatchObject({ status: 429 })
    expect(await login('famous@example.com', right, '203.0.113.2', cookie)).toMatchObject({ status: 200 })
  })

  test('of an account that does not exist is limited in the same way', async () => {
    const guesses = await repeated(12, () => login('nobody@example.com', right))
    expect(statuses(guesses)).toEqual([...Array(10).fill(401), 429, 429])
    expect(
      await server.deps.db.selectFrom('users').select('id').where('email', '=', 'nobody@example.com').execute(),
    ).toEqual([])
  })

  test('right passwords do not count, and do not make room for wrong ones', async () => {
    await server.invite('careless@example.com', right)
    for (let index = 0; index < 9; index++) await login('careless@example.com', 'wrong horse')
    expect(await login('careless@example.com', right)).toMatchObject({ status: 200 })
    expect(await login('careless@example.com', 'wrong horse')).toMatchObject({ status: 401 })
    expect(await login('careless@example.com', right)).toMatchObject({ status: 429 })
  })

  test('ends after a hundred wrong passwords from a network, for any accounts', async () => {
    await server.invite('elsewhere@example.com', right)
    const { db, clock } = server.deps
    for (let index = 0; index < 98; index++) {
      const guess = { email: `victim${index}@example.com`, ip: '2001:db8::1', now: clock() }
      await db.transaction().execute((trx) => countWrongGuess(trx, guess))
    }
    const guesses = await repeated(4, (index) => login(`more${index}@example.com`, right, `2001:db8::${index + 2}`))
    expect(statuses(guesses)).toEqual([401, 401, 429, 429])
    expect(await login('elsewhere@example.com', right, '2001:db8::ffff')).toMatchObject({ status: 429 })
    expect(await login('elsewhere@example.com', right, '2001:db8:0:1::1')).toMatchObject({ status: 200 })
  })
})

describe('a device on which the person has signed in before', () => {
  const email = 'known@example.com'
  let id: string
  let cookie: string
  beforeEach(async () => {
    server.pass(900_000)
    const known = server.deps.db.selectFrom('users').select('id').where('email', '=', email)
    id = (await known.executeTakeFirst())?.id ?? (await server.invite(email, right)).id
    cookie = cookieOf(await login(email, right))
  })
  const wrong = (count: number, withCookie?: string) =>
    repeated(count, () => login(email, 'wrong horse', '192.0.2.1', withCookie))

  test('has its own ten attempts, independent of guesses from its network', async () => {
    expect(statuses(await wrong(12))).toEqual([...Array(10).fill(401), 429, 429])
    expect(await login(email, right)).toMatchObject({ status: 429 })
    expect(await login(email, right, '192.0.2.1', cookie)).toMatchObject({ status: 200 })

    expect(statuses(await wrong(12, cookie))).toEqual([...Array(10).fill(401), 429, 429])
    expect(await login(email, right, '192.0.2.1', cookie)).toMatchObject({ status: 429 })
    expect(await login(email, right, '192.0.2.2')).toMatchObject({ status: 200 })
  })

  test('is known by a cookie that scripts cannot read and that each sign-in renews', async () => {
    const response = await login(email, right, '192.0.2.1', `theme=dark; ${cookie}`)
    expect(response.headers['set-cookie']).toMatch(
      /^parley_device_[\w-]{12}=[\w-]{22}\.[\w-]{43}; Max-Age=34560000; Path=\/auth; HttpOnly; SameSite=Strict$/,
    )
    const idOf = (text: string) => /=([\w-]{22})\./.exec(text)![1]
    expect(idOf(cookieOf(response))).toBe(idOf(cookie))
    expect(idOf(cookieOf(await login(email, right)))).not.toBe(idOf(cookie))
  })

  test.each([
    ['with a forged cookie', async () => cookie.replace(/=../, '=AA')],
    [
      'with the cookie of another account',
      async () => {
        await server.invite('another@example.com', right)
        const other = cookieOf(await login('another@example.com', right))
        return `${cookie.split('=')[0]}=${other.split('=')[1]}`
      },
    ],
    [
      'after the password was changed',
      async () => {
        const passwordHash = await hashPassword(right, { N: 2 ** 10, r: 8, p: 1 })
        const change = { userId: id, passwordHash, ip: null, now: server.deps.clock() }
        await server.deps.db.transaction().execute((trx) => setPassword(trx, change))
        return cookie
      },
    ],
    [
      'after all sessions were ended',
      async () => {
        const { accessToken } = (await login(email, right, '192.0.2.1', cookie)).body
        await new Person(server.nobody.baseUrl, { id, userName: '' }, accessToken).delete('/auth/sessions', {})
        return cookie
      },
    ],
  ])('is unknown %s', async (_, give) => {
    const given = await give()
    await wrong(10)
    expect(await login(email, right, '192.0.2.1', given)).toMatchObject({ status: 429 })
  })
})

describe('a surge of sign-ins', () => {
  const busy = runningAuth(
    { auth: { authMode: 'password' }, email: { host: 'mail.example.com' } },
    { atOnce: 1, waiting: 2 },
  )

  test('gets 503 with Retry-After, while the server handles all other requests', async () => {
    await busy.invite('surge@example.com', right)
    const body = { email: 'surge@example.com', password: right }
    const surge = repeated(8, () => busy.nobody.post('/auth/password-login', body))
    await expect.poll(() => busy.passwords.begun, { interval: 1 }).toBeGreaterThan(0)
    expect(await busy.nobody.get('/config.json')).toMatchObject({ status: 200 })

    const responses = await surge
    expect(new Set(statuses(responses))).toEqual(new Set([200, 503]))
    const refused = responses.find(({ status }) => status === 503)
    expect(refused!.headers['retry-after']).toBe('5')
    expect(await busy.nobody.post('/auth/password-login', body)).toMatchObject({ status: 200 })
  })

  test('from one network does not hold up another network', async () => {
    await busy.invite('elsewhere@example.com', right)
    const body = { email: 'elsewhere@example.com', password: right }
    const before = busy.passwords.begun
    const surge = repeated(20, () => busy.nobody.post('/auth/password-login', body, { 'x-forwarded-for': '192.0.2.1' }))
    await expect.poll(() => busy.passwords.begun, { interval: 1 }).toBeGreaterThan(before)
    const response = await busy.nobody.post('/auth/password-login', body, { 'x-forwarded-for': '192.0.2.2' })
    expect(response).toMatchObject({ status: 200 })
    await surge
  })

  test('refuses a right password that is checked after ten wrong ones', async () => {
    await busy.invite('overtaken@example.com', right)
    const before = busy.passwords.begun
    const { db, clock } = busy.deps
    // The sign-in sees the wrong passwords after the commit, which is between its first and its second check of the
    // limit.
    const { response } = await db.transaction().execute(async (trx) => {
      for (let index = 0; index < 10; index++) {
        await countWrongGuess(trx, { email: 'overtaken@example.com', ip: '127.0.0.1', now: clock() })
      }
      const body = { email: 'overtaken@example.com', password: right }
      const asked = { response: busy.nobody.post('/auth/password-login', body) }
      await expect.poll(() => busy.passwords.begun, { interval: 1 }).toBeGreaterThan(before)
      return asked
    })
    expect(await response).toMatchObject({ status: 429 })
  })
})

describe('routes of other modes', () => {
  test.each(['/auth/register', '/auth/login', '/auth/verify', '/auth/dev-login'])(
    'where an invitation is required there is no %s',
    async (path) => {
      const body = { email: 'new@example.com', password: right }
      expect(await server.nobody.post(path, body)).toMatchObject({ status: 404, body: { error: expect.any(String) } })
    },
  )
})
