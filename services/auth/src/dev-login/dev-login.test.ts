import { Person } from '@parley/test'
import { describe, expect, test } from 'vitest'
import { runningService } from '../../../../libs/accounts/src/service.testing.ts'
import { auth } from '../service.ts'

describe('POST /auth/dev-login where an invitation is required', () => {
  const server = runningService(auth)
  const login = (body: unknown) => Person.nobody(server.baseUrl).post('/auth/dev-login', body)

  test('lets in who is known, by the address in any case', async () => {
    const ann = await server.signedIn('ann')
    const { status, body } = await login({ email: ' ANN@Example.com' })

    const user = { id: ann.id, userName: 'ann', email: 'ann@example.com', isAdmin: false }
    expect({ status, body }).toEqual({
      status: 200,
      body: { user, token: expect.any(String), refreshToken: expect.any(String) },
    })
    const again = new Person(server.baseUrl, user, body.token)
    expect(await again.get('/auth/me')).toMatchObject({ status: 200, body: { user } })
  })

  test('the token lasts a day, and the session as long', async () => {
    const { email } = { email: (await server.signedIn('daily')).userName.concat('@example.com') }
    const person = await Person.signIn(server.baseUrl, email)
    server.pass(86_300_000)
    expect(await person.get('/auth/me')).toMatchObject({ status: 200 })
    server.pass(200_000)
    expect(await person.get('/auth/me')).toMatchObject({ status: 401 })
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

  test('who was removed is a stranger', async () => {
    const gone = await server.signedIn('gone')
    await server.deps.db.updateTable('users').set({ removedAt: 1 }).where('id', '=', gone.id).execute()
    expect(await login({ email: 'gone@example.com' })).toMatchObject({ status: 403 })
  })
})

describe('POST /auth/dev-login on an open server', () => {
  const server = runningService(auth, { auth: { isInviteRequired: false } })

  test('creates who is new, names them after their address and tells everyone', async () => {
    const bob = await Person.signIn(server.baseUrl, 'Bob@example.com')
    expect(bob.userName).toBe('bob')
    expect(await server.recorded()).toEqual([
      {
        type: 'NEW_USER',
        payload: { id: bob.id, userName: 'bob', email: 'bob@example.com', isAdmin: false },
        routing: { to: 'everyone' },
      },
    ])
  })

  test('numbers a name that is taken, also under a race', async () => {
    const domains = Array.from({ length: 8 }, (_, index) => `host${index}.example.com`)
    const people = await Promise.all(domains.map((domain) => Person.signIn(server.baseUrl, `Carol@${domain}`)))
    expect(people.map(({ userName }) => userName).sort()).toEqual([
      'carol',
      ...Array.from({ length: 7 }, (_, index) => `carol${index + 2}`),
    ])
  })

  test('the same stranger eight times at once is one person', async () => {
    const people = await Promise.all(Array.from({ length: 8 }, () => Person.signIn(server.baseUrl, 'dave@example.com')))
    expect(new Set(people.map(({ id }) => id)).size).toBe(1)
  })
})
