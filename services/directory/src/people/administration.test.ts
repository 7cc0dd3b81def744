import { verifyPassword } from '@parley/accounts'
import { Person } from '@parley/test'
import { beforeEach, describe, expect, test } from 'vitest'
import { runningService } from '../../../../libs/accounts/src/service.testing.ts'
import { directory } from '../service.ts'

const server = runningService(directory)
const users = () => server.deps.db.selectFrom('users')
const nobody = () => Person.nobody(server.baseUrl)
const auditOf = (action: string, target: string) =>
  server.deps.db
    .selectFrom('auditLog')
    .selectAll()
    .where('action', '=', action)
    .where('targetId', '=', target)
    .execute()

let round = 0
let ada: Person
let ann: Person
beforeEach(async () => {
  await server.deps.db.updateTable('users').set({ removedAt: 1 }).execute()
  ada = await server.signedIn(`ada${++round}`, { isAdmin: true })
  ann = await server.signedIn(`ann${round}`)
  await server.recorded()
})

describe('POST /users/add', () => {
  test('adds somebody named after their address, and tells everyone', async () => {
    const { status, body } = await ada.post('/users/add', { email: 'New.One@Example.com' })
    expect({ status, body }).toEqual({ status: 200, body: { success: true, userId: expect.any(String) } })
    expect(await server.recorded()).toEqual([
      {
        type: 'NEW_USER',
        payload: { id: body.userId, userName: 'new.one', email: 'new.one@example.com', isAdmin: false },
        routing: { to: 'everyone' },
      },
    ])
    expect(await auditOf('user.create', body.userId)).toMatchObject([{ actorId: ada.id, ip: '127.0.0.1' }])
  })

  test('adds an admin with a password, of which only a hash is kept', async () => {
    const { body } = await ada.post('/users/add', { email: 'b@example.com', role: 'admin', password: 'long enough' })
    const added = await users().selectAll().where('id', '=', body.userId).executeTakeFirstOrThrow()
    expect(added.isAdmin).toBe(true)
    expect(await verifyPassword('long enough', added.passwordHash!)).toBe(true)
    expect(await server.recorded()).toMatchObject([{ routing: { reloadUsers: [added.id] } }])
  })

  test.each([
    ['an address that is taken', () => ({ email: `ANN${round}@example.com` })],
    ['no address', () => ({})],
    ['something else', () => ({ email: 'nobody' })],
    ['an unknown role', () => ({ email: 'c@example.com', role: 'owner' })],
    ['a short password', () => ({ email: 'c@example.com', password: '1234567' })],
  ])('%s is 400', async (_, body) => {
    expect(await ada.post('/users/add', body())).toMatchObject({ status: 400, body: { error: expect.any(String) } })
    expect(await server.recorded()).toEqual([])
  })

  test('is for admins', async () => {
    expect(await ann.post('/users/add', { email: 'd@example.com' })).toMatchObject({ status: 403 })
    expect(await nobody().post('/users/add', { email: 'd@example.com' })).toMatchObject({ status: 401 })
  })
})

describe('PUT /users/:id/role', () => {
  test('makes an admin and takes it back, with effect on the next request', async () => {
    const promotion = await ada.put(`/users/${ann.id}/role`, { role: 'admin' })
    expect(promotion).toMatchObject({
      status: 200,
      body: { user: { id: ann.id, isAdmin: true, createdAt: expect.any(Number) } },
    })
    expect(await server.recorded()).toEqual([
      {
        type: 'UPDATE_USER',
        payload: { id: ann.id, userName: `ann${round}`, isAdmin: true },
        routing: { to: 'everyone', reloadUsers: [ann.id] },
      },
    ])
    expect(await ann.put(`/users/${ada.id}/role`, { role: 'user' })).toMatchObject({ status: 200 })
    expect(await ada.put(`/users/${ann.id}/role`, { role: 'user' })).toMatchObject({ status: 403 })
    expect(await auditOf('user.role.update', ann.id)).toMatchObject([{ actorId: ada.id, metadata: { role: 'admin' } }])
  })

  test('the role somebody has already is no event', async () => {
    expect(await ada.put(`/users/${ann.id}/role`, { role: 'user' })).toMatchObject({ status: 200 })
    expect(await server.recorded()).toEqual([])
  })

  test('the last admin stays', async () => {
    expect(await ada.put(`/users/${ada.id}/role`, { role: 'user' })).toMatchObject({
      status: 400,
      body: { code: 'last_admin' },
    })
  })

  test('of admins who demote each other at once, one remains', async () => {
    const bea = await server.signedIn(`bea${round}`, { isAdmin: true })
    const cem = await server.signedIn(`cem${round}`, { isAdmin: true })
    const replies = await Promise.all(
      [ada, bea, cem].flatMap((admin) =>
        [ada, bea, cem]
          .filter((other) => other !== admin)
          .map((other) => admin.put(`/users/${other.id}/role`, { role: 'user' })),
      ),
    )
    expect(replies.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(2)
    expect(replies.filter(({ status }) => ![200, 400, 403].includes(status))).toEqual([])
    expect(await liveAdmins()).toHaveLength(1)
  })

  test.each([
    ['an unknown user', () => '/users/0190a000-0000-7000-8000-000000000001/role', { role: 'user' }],
    ['an id of another form', () => '/users/nonsense/role', { role: 'user' }],
    ['an unknown role', () => `/users/${ann.id}/role`, { role: 'owner' }],
    ['no role', () => `/users/${ann.id}/role`, {}],
  ])('%s is 400', async (_, path, body) => {
    expect(await ada.put(path(), body)).toMatchObject({ status: 400 })
  })

  test('is for admins', async () => {
    expect(await ann.put(`/users/${ann.id}/role`, { role: 'admin' })).toMatchObject({ status: 403 })
    expect(await nobody().put(`/users/${ann.id}/role`, { role: 'admin' })).toMatchObject({ status: 401 })
  })
})

describe('DELETE /users/:id', () => {
  test('ends everything of theirs, and keeps the row for their messages', async () => {
    const secret = await ada.creates({ name: `secret ${round}`, isPrivate: true, members: [ann.id] })
    const version = await versionOf(secret.id)
    await server.recorded()
    expect(await ada.delete(`/users/${ann.id}`)).toMatchObject({ status: 200, body: { success: true } })

    expect(await ann.get('/users')).toMatchObject({ status: 401 })
    expect(await users().selectAll().where('id', '=', ann.id).executeTakeFirst()).toMatchObject({
      userName: `ann${round}`,
      removedAt: expect.any(Number),
      passwordHash: null,
    })
    expect(await server.recorded()).toEqual([
      {
        type: 'REMOVE_USER',
        payload: { id: ann.id, email: `ann${round}@example.com` },
        routing: { to: 'everyone', endSessions: [expect.any(String)], reloadUsers: [ann.id] },
      },
    ])
    expect(await versionOf(secret.id)).toBe(version + 1)
    expect((await ada.get('/channels')).body.channels).toMatchObject([{ id: secret.id, members: [ada.id] }])
    expect(await auditOf('user.remove', ann.id)).toMatchObject([{ actorId: ada.id }])
    expect(await ada.delete(`/users/${ann.id}`)).toMatchObject({ status: 404 })
  })

  test('the last admin can neither be removed nor exit', async () => {
    expect(await ada.delete(`/users/${ada.id}`)).toMatchObject({ status: 400, body: { code: 'last_admin' } })
    expect(await ada.post('/users/exit')).toMatchObject({ status: 400, body: { code: 'last_admin' } })
  })

  test('of two admins who leave, and remove each other, at once, one remains', async () => {
    const bea = await server.signedIn(`bea${round}`, { isAdmin: true })
    await Promise.all([
      ada.delete(`/users/${bea.id}`),
      bea.delete(`/users/${ada.id}`),
      ada.post('/users/exit'),
      bea.post('/users/exit'),
    ])
    expect(await liveAdmins()).toHaveLength(1)
  })

  test('who is being added to a channel while they are removed is in none', async () => {
    const people = await Promise.all(Array.from({ length: 6 }, (_, index) => server.signedIn(`temp${round}-${index}`)))
    const channel = await ada.creates({ name: `busy ${round}` })
    const replies = await Promise.all(
      people.flatMap(({ id }) => [
        ada.put(`/channels/${channel.id}`, { members: people.map((person) => person.id) }),
        ada.delete(`/users/${id}`),
      ]),
    )
    expect(replies.filter(({ status }) => ![200, 400].includes(status))).toEqual([])
    const members = server.deps.db.selectFrom('channelMembers').select('userId').where('channelId', '=', channel.id)
    expect(await members.execute()).toEqual([{ userId: ada.id }])
  })

  test.each(['0190a000-0000-7000-8000-000000000001', 'nonsense'])('%s is 404', async (id) => {
    expect(await ada.delete(`/users/${id}`)).toMatchObject({ status: 404 })
  })

  test('is for admins', async () => {
    expect(await ann.delete(`/users/${ada.id}`)).toMatchObject({ status: 403 })
    expect(await nobody().delete(`/users/${ada.id}`)).toMatchObject({ status: 401 })
  })
})

const liveAdmins = () => users().select('id').where('isAdmin', '=', true).where('removedAt', 'is', null).execute()

async function versionOf(channelId: string): Promise<number> {
  const { membersVersion } = await server.deps.db
    .selectFrom('channels')
    .select('membersVersion')
    .where('id', '=', channelId)
    .executeTakeFirstOrThrow()
  return membersVersion
}
