import { Person } from '@parley/test'
import { beforeAll, describe, expect, test } from 'vitest'
import { runningService } from '../../../../libs/accounts/src/service.testing.ts'
import { directory } from '../service.ts'

const server = runningService(directory)
const auditOf = (action: string, actor: Person) =>
  server.deps.db
    .selectFrom('auditLog')
    .selectAll()
    .where('action', '=', action)
    .where('actorId', '=', actor.id)
    .execute()
const namesSeenBy = async (person: Person): Promise<string[]> =>
  (await person.get('/users')).body.users.map(({ userName }: { userName: string }) => userName)

describe('GET /users', () => {
  test('lists everybody by name, without secrets', async () => {
    const zoe = await server.signedIn('zoe')
    const ada = await server.signedIn('Ada', { isAdmin: true })
    const { status, body } = await zoe.get('/users')
    expect(status).toBe(200)
    expect(body.users).toEqual([
      { id: ada.id, userName: 'Ada', email: 'ada@example.com', isAdmin: true, createdAt: expect.any(Number) },
      { id: zoe.id, userName: 'zoe', email: 'zoe@example.com', isAdmin: false, createdAt: expect.any(Number) },
    ])
  })

  test('nobody is refused', async () => {
    expect(await Person.nobody(server.baseUrl).get('/users')).toMatchObject({ status: 401 })
  })
})

describe('PUT /users/me', () => {
  test('renames the caller, tells everyone and the audit log', async () => {
    const bob = await server.signedIn('bob')
    await server.recorded()
    const { status, body } = await bob.put('/users/me', { userName: '  Robert  the Ｂold ' })
    const userName = 'Robert the Bold'

    expect({ status, body }).toEqual({
      status: 200,
      body: { user: { id: bob.id, userName, email: 'bob@example.com', isAdmin: false } },
    })
    expect(await namesSeenBy(bob)).toContain(userName)
    expect(await server.recorded()).toEqual([
      { type: 'UPDATE_USER', payload: { id: bob.id, userName, isAdmin: false }, routing: { to: 'everyone' } },
    ])
    expect(await auditOf('user.name.update', bob)).toMatchObject([
      { targetId: bob.id, metadata: { from: 'bob', to: userName }, ip: '127.0.0.1' },
    ])
  })

  test('may change the case of the own name; the same name again is no event', async () => {
    const carol = await server.signedIn('carol')
    await server.recorded()
    for (const _ of [1, 2]) expect(await carol.put('/users/me', { userName: 'Carol' })).toMatchObject({ status: 200 })
    expect(await server.recorded()).toHaveLength(1)
  })

  test('of two who want the same name at once, one gets it', async () => {
    const people = await Promise.all(['dan', 'dora', 'dick', 'dave'].map((name) => server.signedIn(name)))
    const replies = await Promise.all(
      people.map((person, index) => person.put('/users/me', { userName: index % 2 ? 'DUKE' : 'duke' })),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
    expect(replies.find(({ status }) => status === 400)?.body).toMatchObject({ code: 'duplicate' })
  })

  let eve: Person
  beforeAll(async () => {
    eve = await server.signedIn('eve')
    await server.signedIn('frank')
  })
  test.each([
    ['the name of somebody else, in another case', 'FRANK'],
    ['the word that calls everybody', 'channel'],
    ['nothing', ''],
    ['spaces', '   '],
    ['too much', 'a'.repeat(65)],
    ['an invisible character', 'An\u202En'],
    ['U+0000', 'An\0n'],
    ['a number', 7],
    ['no field', undefined],
  ])('%s is refused', async (_, userName) => {
    expect(await eve.put('/users/me', { userName })).toMatchObject({
      status: 400,
      body: { error: expect.any(String) },
    })
  })
})

describe('POST /users/exit', () => {
  test('ends sessions and memberships, frees name and address, and tells everyone', async () => {
    const gina = await server.signedIn('gina')
    const channel = await gina.creates({ name: 'of gina', isPrivate: true })
    await server.recorded()
    expect(await gina.post('/users/exit')).toMatchObject({
      status: 200,
      body: { success: true, message: expect.any(String) },
    })

    expect(await gina.get('/users')).toMatchObject({ status: 401 })
    expect(await server.recorded()).toEqual([
      {
        type: 'USER_EXIT',
        payload: { id: gina.id, userName: 'gina' },
        routing: { to: 'everyone', endSessions: [expect.any(String)], reloadUsers: [gina.id] },
      },
    ])
    expect(await auditOf('user.exit', gina)).toHaveLength(1)
    const members = server.deps.db.selectFrom('channelMembers').selectAll().where('channelId', '=', channel.id)
    expect(await members.execute()).toEqual([])
    const again = await server.signedIn('gina')
    expect(await namesSeenBy(again)).toContain('gina')
  })
})
