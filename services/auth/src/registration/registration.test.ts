import { Person } from '@parley/test'
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

  test('creates somebody with a password, signs them in and tells everyone', async () => {
    const reply = await register({ email: 'Ann@Example.com', password: 'correct horse' })
    expect(reply).toMatchObject({ status: 200, body: tokensOf(900) })

    const [row] = await peopleWith('ann@example.com')
    const ann = new Person(server.nobody.baseUrl, row!, reply.body.accessToken)
    const user = { id: row!.id, userName: 'ann', email: 'ann@example.com', isAdmin: false }
    expect((await ann.get('/auth/me')).body).toEqual({ user })
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

  test('twenty registrations with one address at once are one person', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        register({ email: index % 2 ? 'race@example.com' : 'RACE@example.com', password: `password ${index}` }),
      ),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(400)])
    expect(await peopleWith('race@example.com')).toHaveLength(1)

    const winner = replies.findIndex(({ status }) => status === 200)
    const login = { email: 'race@example.com', password: `password ${winner}` }
    expect(await server.nobody.post('/auth/password-login', login)).toMatchObject({ status: 200 })
  })

  test.each([
    ['an address that is taken', { email: 'TAKEN@example.com', password: 'long enough' }],
    ['a short password', { email: 'new@example.com', password: '1234567' }],
    ['no password', { email: 'new@example.com' }],
    ['an endless password', { email: 'new@example.com', password: 'x'.repeat(1_001) }],
    ['something else than an address', { email: 'new', password: 'long enough' }],
    ['no address', { password: 'long enough' }],
    ['nothing', undefined],
  ])('%s is 400', async (_, body) => {
    if ((await peopleWith('taken@example.com')).length === 0) await server.invite('taken@example.com')
    expect(await register(body)).toMatchObject({ status: 400, body: { error: expect.any(String) } })
    expect(await peopleWith('new@example.com')).toEqual([])
    expect(await peopleWith('taken@example.com')).toMatchObject([{ passwordHash: null }])
  })

  test('without e-mail a reset is asked for in vain, with the same answer', async () => {
    const reply = await server.nobody.post('/auth/request-password-reset', { email: 'ann@example.com' })
    expect(reply).toMatchObject({ status: 200, body: { success: true } })
    expect(await server.mailTo('ann@example.com')).toEqual([])
  })
})
