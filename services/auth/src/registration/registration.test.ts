import { newMember, Person } from '@parley/test'
import { describe, expect, test } from 'vitest'
import { runningAuth, tokensOf } from '../auth.testing.ts'

describe('POST /auth/register', () => {
  const server = runningAuth({
    auth: { authMode: 'password', isInviteRequired: false },
    chat: { initialUser: { password: 'first password' } },
  })
  const register = (body: unknown) => server.nobody.post('/auth/register', body)
  const peopleWith = (email: string) =>
    server.deps.db.selectFrom('users').selectAll().where('email', '=', email).execute()

  test('creates a person with a password, signs them in and sends an event to everyone', async () => {
    const response = await register({ email: 'Ann@Example.com', password: 'correct horse' })
    expect(response).toMatchObject({ status: 200, body: tokensOf(900) })

    const [row] = await peopleWith('ann@example.com')
    const ann = new Person(server.nobody.baseUrl, row!, response.body.accessToken)
    const user = { ...newMember, id: row!.id, userName: 'ann', email: 'ann@example.com' }
    expect((await ann.get('/auth/me')).body).toEqual({ user, groups: [], isManaged: false })
    const events = await server.deps.db.selectFrom('outbox').select('event').execute()
    expect(events.map(({ event }) => JSON.parse(event ?? 'null'))).toContainEqual({
      type: 'NEW_USER',
      payload: { ...user, createdAt: expect.any(Number) },
    })
    expect(
      await server.deps.db.selectFrom('auditLog').selectAll().where('targetId', '=', row!.id).execute(),
    ).toMatchObject([{ action: 'user.create', actorId: row!.id }])
    const login = { email: 'ann@example.com', password: 'correct horse' }
    expect(await server.nobody.post('/auth/password-login', login)).toMatchObject({ status: 200 })
  })

  test('twenty concurrent registrations with one address create one person', async () => {
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        register({ email: index % 2 ? 'race@example.com' : 'RACE@example.com', password: `password ${index}` }),
      ),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(400)])
    expect(await peopleWith('race@example.com')).toHaveLength(1)

    const winner = responses.findIndex(({ status }) => status === 200)
    const login = { email: 'race@example.com', password: `password ${winner}` }
    expect(await server.nobody.post('/auth/password-login', login)).toMatchObject({ status: 200 })
  })

  test.each([
    ['an address that is taken', { email: 'TAKEN@example.com', password: 'long enough' }],
    ['a short password', { email: 'new@example.com', password: '1234567' }],
    ['no password', { email: 'new@example.com' }],
    ['an endless password', { email: 'new@example.com', password: 'x'.repeat(1_001) }],
    ['something else than an address', { email: 'new', password: 'long enough' }],
    ['an address that NFKC changes', { email: 'ⁿew@example.com', password: 'long enough' }],
    ['an address literal', { email: 'new@[127.0.0.1]', password: 'long enough' }],
    ['no address', { password: 'long enough' }],
    ['nothing', undefined],
  ])('%s is 400', async (_, body) => {
    if ((await peopleWith('taken@example.com')).length === 0) await server.invite('taken@example.com')
    expect(await register(body)).toMatchObject({ status: 400, body: { error: expect.any(String) } })
    expect(await peopleWith('new@example.com')).toEqual([])
    expect(await peopleWith('taken@example.com')).toMatchObject([{ passwordHash: null }])
  })

  test('without e-mail the response to a reset request does not say that a link was sent', async () => {
    const ask = (email: string) => server.nobody.post('/auth/request-password-reset', { email })
    const response = await ask('ann@example.com')
    expect(response).toMatchObject({ status: 200, body: { success: true } })
    expect(response.body.message).toMatch(/sends no e-mail/)
    expect(response.body.message).not.toMatch(/link/)
    expect((await ask('stranger@example.com')).body).toEqual(response.body)
    expect(await server.mailTo('ann@example.com')).toEqual([])
  })
})

describe('many registrations at once', () => {
  const server = runningAuth(
    {
      auth: { authMode: 'password', isInviteRequired: false, registrationsPerNetwork: 30 },
      chat: { initialUser: { password: 'first password' } },
    },
    { atOnce: 1, waiting: 8 },
  )
  const password = 'long enough'
  const from = (ip: string) => ({ 'x-forwarded-for': ip })
  const register = (email: string, ip: string) => server.nobody.post('/auth/register', { email, password }, from(ip))

  test('from one network delay neither sign-ins nor registrations from other networks', async () => {
    await server.invite('member@example.com', password)
    const before = server.passwords.begun
    const crowd = Array.from({ length: 150 }, (_, index) => register(`crowd${index}@example.com`, '192.0.2.1'))
    await expect.poll(() => server.passwords.begun, { interval: 1 }).toBeGreaterThan(before)

    const login = { email: 'member@example.com', password }
    expect(await server.nobody.post('/auth/password-login', login, from('192.0.2.2'))).toMatchObject({ status: 200 })
    expect(await register('neighbour@example.com', '192.0.2.3')).toMatchObject({ status: 200 })

    const responses = await Promise.all(crowd)
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 429, 503]))
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(120)
  })

  test('are limited for a network for 15 minutes, and failed ones count too', async () => {
    const responses = []
    for (let index = 0; index < 31; index++) responses.push(await register('member@example.com', `2001:db8::${index}`))
    expect(responses.map(({ status }) => status)).toEqual([...Array(30).fill(400), 429])
    expect(Number(responses.at(-1)!.headers['retry-after'])).toBeGreaterThan(800)
    expect(await register('late@example.com', '2001:db8::ffff')).toMatchObject({ status: 429 })

    server.pass(900_000)
    expect(await register('late@example.com', '2001:db8::ffff')).toMatchObject({ status: 200 })
  })
})
