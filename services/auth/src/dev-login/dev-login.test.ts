import { newMember, Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { runningAuth } from '../auth.testing.ts'

describe('POST /auth/dev-login where an invitation is required', () => {
  const server = runningAuth({ auth: { isInviteRequired: true } })
  const login = (body: unknown) => server.nobody.post('/auth/dev-login', body)

  test('signs in a person who was invited, whatever the case of the address', async () => {
    const { id } = await server.invite('ann@example.com')
    const { status, body } = await login({ email: ' ANN@Example.com' })

    const user = { ...newMember, id, userName: 'ann', email: 'ann@example.com' }
    expect({ status, body }).toEqual({
      status: 200,
      body: { user, token: expect.any(String), refreshToken: expect.any(String) },
    })
    const ann = new Person(server.nobody.baseUrl, user, body.token)
    expect(await ann.get('/auth/me')).toMatchObject({ status: 200, body: { user } })
  })

  test.each([
    ['a stranger', { email: 'stranger@example.com' }, 403],
    ['no address', { email: 'stranger' }, 400],
    ['a number', { email: 7 }, 400],
    ['nothing', undefined, 400],
    ['broken JSON', '{"email":', 400],
    ['an endless address', { email: `${'a'.repeat(300)}@example.com` }, 400],
  ])('%s is refused', async (_, body, status) => {
    expect(await login(body)).toMatchObject({ status, body: { error: expect.any(String) } })
  })
})

describe('POST /auth/dev-login on an open server', () => {
  const environment = testEnvironment()

  test('creates a new person, names them after their address and sends an event to everyone', async () => {
    const rob = await Person.signIn(environment.baseUrl, 'Rob@example.com')
    expect(rob.userName).toBe('rob')
    await environment.events.to(environment.people.cat).toHave('NEW_USER', {
      id: rob.id,
      userName: 'rob',
      email: 'rob@example.com',
      isAdmin: false,
    })
  })

  test('adds a number to a name that is taken, also for concurrent sign-ins', async () => {
    const domains = Array.from({ length: 8 }, (_, index) => `host${index}.example.com`)
    const people = await Promise.all(domains.map((domain) => Person.signIn(environment.baseUrl, `Carol@${domain}`)))
    expect(people.map(({ userName }) => userName).sort()).toEqual([
      'carol',
      ...Array.from({ length: 7 }, (_, index) => `carol${index + 2}`),
    ])
  })

  test('eight concurrent first sign-ins with one address create one person', async () => {
    const people = await Promise.all(
      Array.from({ length: 8 }, () => Person.signIn(environment.baseUrl, 'dave@example.com')),
    )
    expect(new Set(people.map(({ id }) => id)).size).toBe(1)
  })

  test('a removed person comes back as a new person', async () => {
    const gone = await Person.signIn(environment.baseUrl, 'gone@example.com')
    expect(await gone.post('/users/exit')).toMatchObject({ status: 200 })
    expect((await Person.signIn(environment.baseUrl, 'gone@example.com')).id).not.toBe(gone.id)
  })

  test('is refused when the person is removed at the same moment', async () => {
    const email = 'leaving@example.com'
    const { id, post } = await Person.signIn(environment.baseUrl, email)
    const { login } = await environment.deps.db.transaction().execute(async (trx) => {
      await trx.updateTable('users').set({ removedAt: 1 }).where('id', '=', id).execute()
      const login = post('/auth/dev-login', { email })
      await somebodyWaitsFor(trx)
      return { login }
    })
    expect(await login).toMatchObject({ status: 401 })
  })

  test('the token and its session last a day', async () => {
    const daily = await Person.signIn(environment.baseUrl, 'daily@example.com')
    environment.pass(86_300_000)
    expect(await daily.get('/auth/me')).toMatchObject({ status: 200 })
    environment.pass(200_000)
    expect(await daily.get('/auth/me')).toMatchObject({ status: 401 })
  })
})
