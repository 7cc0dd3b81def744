import { verifyPassword } from '@parley/accounts'
import { createSeals } from '@parley/identity'
import { buildApp } from '@parley/service'
import { newMember, Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { sql } from 'kysely'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { administrationRoutes } from './administration.routes.ts'

const environment = testEnvironment()
const unknownId = '0190a000-0000-7000-8000-000000000001'
const rowOf = (id: string) =>
  environment.deps.db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

/** Locks a person's row, sends a request that waits for it, and then changes the person. */
async function meanwhile(id: string, change: 'demoted' | 'signed out', ask: () => ReturnType<Person['post']>) {
  const { response } = await environment.deps.db.transaction().execute(async (trx) => {
    await trx.selectFrom('users').select('id').where('id', '=', id).forUpdate().execute()
    const response = ask()
    await somebodyWaitsFor(trx)
    if (change === 'demoted') await trx.updateTable('users').set({ isAdmin: false }).where('id', '=', id).execute()
    else await trx.updateTable('sessions').set({ endedAt: Date.now() }).where('userId', '=', id).execute()
    return { response }
  })
  return response
}

let ada: Person
let cat: Person
let zoe: Person
let round = 0
beforeEach(async () => {
  ;({ ada, cat } = environment.people)
  zoe = await Person.signIn(environment.baseUrl, `zoe-${++round}@example.com`)
})

describe('POST /users/add', () => {
  test('adds a person named after their address, and sends an event to everyone', async () => {
    const { status, body } = await ada.post('/users/add', { email: 'New.One@Example.com' })
    expect({ status, body }).toEqual({ status: 200, body: { success: true, userId: expect.any(String) } })
    const added = { ...newMember, id: body.userId, userName: 'new.one', email: 'new.one@example.com' }
    await environment.events.to(cat).toHave('NEW_USER', added)
    expect(await environment.auditLog({ action: 'user.create', targetId: body.userId })).toMatchObject([
      { actorId: ada.id, ip: '127.0.0.1' },
    ])
  })

  test('adds an admin with a password, of which only a hash is kept', async () => {
    const { body } = await ada.post('/users/add', { email: 'b@example.com', role: 'admin', password: 'long enough' })
    const added = await rowOf(body.userId)
    expect(added.isAdmin).toBe(true)
    expect(await verifyPassword('long enough', added.passwordHash!)).toBe(true)
  })

  /** Sends the request to a process in which these are the secrets of `auth.jwtSecret`. */
  async function addWithSecrets(secrets: string[], body: object) {
    const deps = { ...environment.depsOf('directory'), seals: createSeals(secrets) }
    const { fastify } = await buildApp({ deps, position: 'inside', checks: {} })
    onTestFinished(() => fastify.close())
    await fastify.register(administrationRoutes(deps))
    const headers = { authorization: `Bearer ${ada.token}`, 'idempotency-key': 'during a rotation' }
    const response = await fastify.inject({ method: 'POST', url: '/users/add', headers, payload: body })
    return { status: response.statusCode, body: response.json() }
  }

  test('gets the first response when it is repeated during a rotation of the secret', async () => {
    const [old, fresh] = ['an-old-secret-of-more-than-32-characters', 'a-new-secret-of-more-than-32-characters']
    const body = { email: 'rotated@example.com', password: 'long enough' }
    const first = await addWithSecrets([old, fresh], body)
    expect(first).toMatchObject({ status: 200, body: { success: true } })
    expect(await addWithSecrets([fresh, old], body)).toEqual(first)
    expect(await addWithSecrets([fresh, old], { ...body, password: 'another password' })).toMatchObject({
      status: 400,
      body: { code: 'idempotency_key_reused' },
    })
  })

  test.each([
    ['an address that is taken', { email: 'CAT@example.com' }],
    ['no address', {}],
    ['something else', { email: 'nobody' }],
    ['an address that NFKC changes', { email: 'ᶜ@example.com' }],
    ['an address with two dots', { email: 'c@example..com' }],
    ['an unknown role', { email: 'c@example.com', role: 'owner' }],
    ['a short password', { email: 'c@example.com', password: '1234567' }],
  ])('%s is 400', async (_, body) => {
    expect(await ada.post('/users/add', body)).toMatchObject({ status: 400, body: { error: expect.any(String) } })
    await environment.events.to(cat).neverHave('NEW_USER', { email: 'c@example.com' })
  })

  test('is for admins', async () => {
    expect(await cat.post('/users/add', { email: 'd@example.com' })).toMatchObject({ status: 403 })
    expect(await environment.people.nobody.post('/users/add', { email: 'd@example.com' })).toMatchObject({
      status: 401,
    })
  })
})

describe('PUT /users/:id/role', () => {
  test('makes a person an admin and a member again, with effect on the next request and the open stream', async () => {
    const secret = { id: environment.channel.secret.id }
    const stream = await zoe.opensStream()
    expect(await ada.put(`/users/${zoe.id}/role`, { role: 'admin' })).toMatchObject({
      status: 200,
      body: { user: { id: zoe.id, isAdmin: true, createdAt: expect.any(Number) } },
    })
    await environment.events.to(cat).toHave('UPDATE_USER', { id: zoe.id, isAdmin: true })
    const first = await environment.people.ann.says('for admins too', secret)
    await stream.waitFor('NEW_MESSAGE', { id: first.id })
    expect(await zoe.get('/admin/audit-log')).toMatchObject({ status: 200 })

    expect(await ada.put(`/users/${zoe.id}/role`, { role: 'user' })).toMatchObject({ status: 200 })
    expect(await zoe.get('/admin/audit-log')).toMatchObject({ status: 403 })
    const second = await environment.people.ann.says('not any more', secret)
    const marker = await environment.people.ann.says('marker', environment.channel.general)
    await stream.waitFor('NEW_MESSAGE', { id: marker.id })
    expect(stream.all('NEW_MESSAGE').map(({ id }) => id)).not.toContain(second.id)
    expect(await environment.auditLog({ action: 'user.role.update', targetId: zoe.id })).toMatchObject([
      { actorId: ada.id, metadata: { role: 'admin' } },
      { actorId: ada.id, metadata: { role: 'member' } },
    ])
    await stream.close()
  })

  test('the same role again is no change', async () => {
    expect(await ada.put(`/users/${zoe.id}/role`, { role: 'user' })).toMatchObject({ status: 200 })
    expect(await environment.auditLog({ action: 'user.role.update', targetId: zoe.id })).toEqual([])
  })

  test.each([
    ['an unknown user', () => `/users/${unknownId}/role`, { role: 'user' }],
    ['an id of another form', () => '/users/nonsense/role', { role: 'user' }],
    ['an unknown role', () => `/users/${zoe.id}/role`, { role: 'owner' }],
    ['no role', () => `/users/${zoe.id}/role`, {}],
  ])('%s is 400', async (_, path, body) => {
    expect(await ada.put(path(), body)).toMatchObject({ status: 400 })
  })

  test('is for admins', async () => {
    expect(await zoe.put(`/users/${zoe.id}/role`, { role: 'admin' })).toMatchObject({ status: 403 })
    expect(await environment.people.nobody.put(`/users/${zoe.id}/role`, { role: 'admin' })).toMatchObject({
      status: 401,
    })
  })
})

describe('DELETE /users/:id', () => {
  test('ends their sessions, tokens and memberships, and keeps the row for their messages', async () => {
    const secret = await ada.creates({ name: 'with zoe', isPrivate: true, members: [zoe.id] })
    const stream = await zoe.opensStream()
    expect(await ada.delete(`/users/${zoe.id}`)).toMatchObject({ status: 200, body: { success: true } })

    await stream.ended
    expect(await zoe.get('/users')).toMatchObject({ status: 401 })
    await environment.events.to(cat).toHave('REMOVE_USER', { id: zoe.id, email: `zoe-${round}@example.com` })
    expect(await rowOf(zoe.id)).toMatchObject({ userName: zoe.userName, removedAt: expect.any(Number) })
    expect((await ada.get('/channels')).body.channels).toContainEqual(
      expect.objectContaining({ id: secret.id, members: [ada.id] }),
    )
    expect(await environment.auditLog({ action: 'user.remove', targetId: zoe.id })).toMatchObject([{ actorId: ada.id }])
    const { sessionId } = environment.deps.tokens.readRefresh(zoe.refreshToken!)
    expect(await environment.auditLog({ action: 'session.end', targetId: sessionId })).toMatchObject([
      { actorId: ada.id, metadata: { reason: 'removed' }, ip: '127.0.0.1' },
    ])
    expect(await ada.delete(`/users/${zoe.id}`)).toMatchObject({ status: 404 })
  })

  test('a person who is added to a channel while being removed is in no channel', async () => {
    const names = Array.from({ length: 6 }, (_, index) => `temp${index}@example.com`)
    const people = await Promise.all(names.map((name) => Person.signIn(environment.baseUrl, name)))
    const channel = await ada.creates({ name: 'busy' })
    const responses = await Promise.all(
      people.flatMap(({ id }) => [
        ada.put(`/channels/${channel.id}`, { members: people.map((person) => person.id) }),
        ada.delete(`/users/${id}`),
      ]),
    )
    expect(responses.filter(({ status }) => ![200, 400].includes(status))).toEqual([])
    const members = environment.deps.db
      .selectFrom('channelMembers')
      .select('userId')
      .where('channelId', '=', channel.id)
    expect(await members.execute()).toEqual([{ userId: ada.id }])
  })

  test.each([unknownId, 'nonsense', 'a'.repeat(500)])('%s is 404', async (id) => {
    expect(await ada.delete(`/users/${id}`)).toMatchObject({ status: 404 })
  })

  test('a person in more channels than a statement has parameters is removed from all of them', async () => {
    await sql`
      with made as (
        insert into channels (id, kind, name, name_key, created_by, created_at, deleted_at)
        select gen_random_uuid(), 'public', 'many', 'many', ${ada.id}, 0, 1 from generate_series(1, 66000)
        returning id
      )
      insert into channel_members (channel_id, user_id, joined_at) select id, ${zoe.id}, 0 from made`.execute(
      environment.deps.db,
    )
    expect(await ada.delete(`/users/${zoe.id}`)).toMatchObject({ status: 200 })
    const left = environment.deps.db.selectFrom('channelMembers').select('channelId').where('userId', '=', zoe.id)
    expect(await left.execute()).toEqual([])
  })

  test('is for admins', async () => {
    expect(await zoe.delete(`/users/${ada.id}`)).toMatchObject({ status: 403 })
    expect(await environment.people.nobody.delete(`/users/${ada.id}`)).toMatchObject({ status: 401 })
  })
})

describe('an admin who has lost the role while their request waited', () => {
  beforeEach(() => ada.put(`/users/${zoe.id}/role`, { role: 'admin' }))

  test.each([
    ['demoted', 403],
    ['signed out', 401],
  ] as const)('%s, changes no role, removes nobody and invites nobody', async (change, status) => {
    const dora = await Person.signIn(environment.baseUrl, `dora-${round}@example.com`)
    for (const ask of [
      (zoe: Person) => zoe.put(`/users/${dora.id}/role`, { role: 'admin' }),
      (zoe: Person) => zoe.delete(`/users/${dora.id}`),
      (zoe: Person) => zoe.post(`/users/${dora.id}/invite`),
    ]) {
      const admin = await Person.signIn(environment.baseUrl, `zoe-${round}@example.com`)
      await ada.put(`/users/${zoe.id}/role`, { role: 'admin' })
      expect(await meanwhile(zoe.id, change, () => ask(admin))).toMatchObject({ status })
    }
    expect(await rowOf(dora.id)).toMatchObject({ isAdmin: false, removedAt: null })
    await ada.put(`/users/${zoe.id}/role`, { role: 'user' })
  })

  test('signed out, does not leave the server either', async () => {
    expect(await meanwhile(zoe.id, 'signed out', () => zoe.post('/users/exit'))).toMatchObject({ status: 401 })
    expect(await rowOf(zoe.id)).toMatchObject({ removedAt: null })
    await ada.put(`/users/${zoe.id}/role`, { role: 'user' })
  })

  test.each([
    ['demoted', 403],
    ['signed out', 401],
  ] as const)('%s, adds nobody and gives nobody a password', async (change, status) => {
    const email = `by-${change.replace(' ', '-')}@example.com`
    const added = await meanwhile(zoe.id, change, () => zoe.post('/users/add', { email, role: 'admin' }))
    expect(added).toMatchObject({ status })
    expect(await environment.deps.db.selectFrom('users').select('id').where('email', '=', email).execute()).toEqual([])

    const dora = await Person.signIn(environment.baseUrl, `dora-${round}@example.com`)
    const admin = await Person.signIn(environment.baseUrl, `zoe-${round}@example.com`)
    await ada.put(`/users/${zoe.id}/role`, { role: 'admin' })
    const reset = await meanwhile(zoe.id, change, () =>
      admin.post(`/users/${dora.id}/reset-password`, { password: 'by nobody' }),
    )
    expect(reset).toMatchObject({ status })
    expect((await rowOf(dora.id)).passwordHash).toBe(null)
    await ada.put(`/users/${zoe.id}/role`, { role: 'user' })
  })
})
