import { deactivateExpiredGuests } from '@parley/accounts'
import { newMember, Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
const joins = (name: string) => Person.signIn(environment.baseUrl, `${name}@example.com`)
const setActive = (person: Person, isActive: boolean, by = environment.people.ada) =>
  by.put(`/users/${person.id}/active`, { isActive })
const found = async (q: string) =>
  (await environment.people.cat.get(`/users?q=${q}`)).body.users.map(({ id }: { id: string }) => id)

describe('PUT /users/:id/active', () => {
  test('deactivates a person at once, who keeps name, memberships and messages', async () => {
    const { ada, ann, bob } = environment.people
    const dan = await joins('dan')
    const channel = await ann.creates({ name: 'with dan', isPrivate: true, members: [dan.id] })
    const said = await dan.says('before', channel)
    const stream = await dan.opensStream()
    expect(await found('dan')).toEqual([dan.id])

    const { status, body } = await setActive(dan, false)
    const told = { ...newMember, id: dan.id, userName: 'dan', isActive: false }
    expect([status, body.user]).toEqual([200, { ...told, email: 'dan@example.com', createdAt: expect.any(Number) }])
    await environment.events.to(bob).toHave('UPDATE_USER', told)
    await stream.ended
    expect(await dan.get('/users')).toMatchObject({ status: 401 })
    expect(
      await Person.nobody(environment.baseUrl).post('/auth/refresh', { refreshToken: dan.refreshToken }),
    ).toMatchObject({
      status: 401,
      body: { code: 'session_of_deactivated', error: expect.stringContaining('deactivated') },
    })
    expect(
      await Person.nobody(environment.baseUrl).post('/auth/dev-login', { email: 'dan@example.com' }),
    ).toMatchObject({
      status: 403,
      body: { code: 'account_deactivated', error: expect.stringContaining('deactivated') },
    })
    expect(await found('dan')).toEqual([])
    for (const q of ['dan', 'dan@example.com']) {
      const { body: gone } = await ada.get(`/users?q=${q}&isActive=false`)
      expect(gone).toMatchObject({ users: [{ id: dan.id, isActive: false }], hasMore: false })
    }
    expect((await ada.get('/users?q=an&isActive=false')).body.users).toEqual([])
    expect(await ann.get('/users?q=dan&isActive=false')).toMatchObject({ status: 403 })
    expect(await ada.get('/users?isActive=false')).toMatchObject({ status: 400 })
    expect((await ann.get(`/users?ids=${dan.id}`)).body.users).toMatchObject([{ userName: 'dan', isActive: false }])
    expect((await ann.get(`/channels/${channel.id}`)).body.channel.members).toContain(dan.id)
    expect((await ann.get(`/messages/${said.id}`)).body.message).toMatchObject({ author: { userName: 'dan' } })
    await setActive(dan, false)
    expect(await environment.auditLog({ action: 'user.deactivate', targetId: dan.id })).toMatchObject([
      { actorId: ada.id, ip: '127.0.0.1' },
    ])

    expect(await setActive(dan, true)).toMatchObject({ status: 200, body: { user: { isActive: true } } })
    await environment.events.to(bob).toHave('UPDATE_USER', { id: dan.id, isActive: true })
    const back = await joins('dan')
    expect((await back.get(`/channels/${channel.id}`)).status).toBe(200)
    expect(await found('dan')).toEqual([dan.id])
    expect(await environment.auditLog({ action: 'user.activate', targetId: dan.id })).toMatchObject([
      { actorId: ada.id },
    ])
  })

  test('shows a person as offline who has set their status without a stream', async () => {
    const { bob, cat } = environment.people
    const events = environment.events.to(bob)
    const kim = await joins('kim')
    await kim.put('/presence/me', { status: 'away' })
    await events.toHave('PRESENCE_UPDATE', { userId: kim.id, status: 'away' })
    await setActive(kim, false)
    await events.toHave('PRESENCE_UPDATE', { userId: kim.id, status: 'offline' })
    expect((await cat.get(`/presence?ids=${kim.id}`)).body.presence).toMatchObject([{ status: 'offline' }])
  })

  test('the caller, the last active admin, unknown people, and callers who are not admins are refused', async () => {
    const { ada, ann, cat } = environment.people
    const eve = await joins('eve')
    await ada.put(`/users/${eve.id}/role`, { role: 'admin' })
    expect(await setActive(ada, false)).toMatchObject({ status: 400 })
    expect(await setActive(ada, false, cat)).toMatchObject({ status: 403 })
    for (const isActive of [false, true]) {
      expect(await ada.put('/users/unknown/active', { isActive })).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      })
    }
    expect(await ada.put(`/users/${ann.id}/active`, {})).toMatchObject({ status: 400 })
    await setActive(eve, false)
    expect(await ada.put(`/users/${ada.id}/role`, { role: 'member' })).toMatchObject({
      status: 400,
      body: { code: 'last_admin' },
    })
  })
})

describe('guests with a limited time', () => {
  test('are refused the moment it is over, and their streams end', async () => {
    const { ada, bob } = environment.people
    const expiresAt = environment.deps.clock() + 3_600_000
    const added = await ada.post('/users/add', { email: 'gus@example.com', role: 'guest', expiresAt })
    expect(added.status).toBe(200)
    const gus = await joins('gus')
    expect((await gus.get('/auth/me')).body.user).toMatchObject({ role: 'guest', isAdmin: false })
    const stream = await gus.opensStream()
    expect((await gus.get('/auth/me')).body.user.expiresAt).toBe(expiresAt)
    expect((await ada.get(`/users?ids=${gus.id}`)).body.users).toMatchObject([{ role: 'guest', expiresAt }])

    environment.pass(3_600_000)
    expect(await gus.get('/auth/me')).toMatchObject({ status: 401 })
    await stream.ended
    expect(
      await Person.nobody(environment.baseUrl).post('/auth/dev-login', { email: 'gus@example.com' }),
    ).toMatchObject({ status: 403 })
    // The worker deactivates expired guests too.
    await environment
      .depsOf('worker')
      .db.transaction()
      .execute((trx) => deactivateExpiredGuests(trx, environment.deps.clock()))
    await environment.events.to(bob).toHave('UPDATE_USER', { id: gus.id, isActive: false })
    expect(await environment.auditLog({ action: 'user.deactivate', targetId: gus.id })).toMatchObject([
      { actorId: 'server', metadata: { userName: 'gus', reason: 'expired' } },
    ])

    expect(await setActive(gus, true)).toMatchObject({ status: 200 })
    expect((await (await joins('gus')).get('/auth/me')).status).toBe(200)
  })

  test.each([
    ['of a member', { role: 'member', expiresAt: 4_000_000_000_000 }],
    ['in the past', { role: 'guest', expiresAt: 1 }],
    ['that no date can be', { role: 'guest', expiresAt: 8_640_000_000_000_001 }],
  ])('a time %s is refused', async (_, wish) => {
    const { ada, cat } = environment.people
    expect(await ada.put(`/users/${cat.id}/role`, wish)).toMatchObject({ status: 400 })
    expect(await ada.post('/users/add', { email: 'new@example.com', ...wish })).toMatchObject({ status: 400 })
  })
})

describe('sessions of other people', () => {
  test('an admin lists and ends them, with an entry in the audit log', async () => {
    const { ada, cat } = environment.people
    const first = await joins('fay')
    const second = await joins('fay')
    const stream = await second.opensStream()
    const { body } = await ada.get(`/users/${first.id}/sessions`)
    expect(body.sessions).toHaveLength(2)
    expect(body.sessions[0]).toMatchObject({ isCurrent: false, ip: '127.0.0.1' })
    expect(await cat.get(`/users/${first.id}/sessions`)).toMatchObject({ status: 403 })

    const newest = `/users/${first.id}/sessions/${body.sessions[0].id}`
    expect(await ada.delete(newest)).toMatchObject({ status: 200, body: { success: true } })
    await stream.ended
    expect(await ada.delete(newest)).toMatchObject({ status: 404 })
    expect(await ada.delete(`/users/${cat.id}/sessions/${body.sessions[1].id}`)).toMatchObject({ status: 404 })
    expect(await first.get('/auth/me')).toMatchObject({ status: 200 })
    expect(await ada.delete(`/users/${first.id}/sessions`)).toMatchObject({
      status: 200,
      body: { ended: 1, tokens: 0 },
    })
    expect(await first.get('/auth/me')).toMatchObject({ status: 401 })
    expect(await ada.get('/users/unknown/sessions')).toMatchObject({ status: 404 })
    const entries = await environment.deps.db
      .selectFrom('auditLog')
      .select(['actorId', 'metadata'])
      .where('action', '=', 'session.end')
      .where(
        'targetId',
        'in',
        body.sessions.map(({ id }: { id: string }) => id),
      )
      .execute()
    expect(entries).toEqual(Array(2).fill({ actorId: ada.id, metadata: { reason: 'revoked' } }))
  })
})

describe('API tokens of other people', () => {
  test('stay valid when an admin ends the sessions; the admin can list and end them one by one', async () => {
    const { ada, cat } = environment.people
    const fay = await joins('fay')
    const made = (await fay.post('/auth/tokens', { name: 'nightly', scopes: ['read'] })).body
    const program = Person.nobody(environment.baseUrl)
    program.token = made.token
    const stream = await program.opensStream()

    const ended = await ada.delete(`/users/${fay.id}/sessions`)
    expect(ended.body).toEqual({ success: true, ended: expect.any(Number), tokens: 1 })
    expect(await program.get('/auth/me')).toMatchObject({ status: 200 })
    const { token: _, ...shown } = made
    expect((await ada.get(`/users/${fay.id}/tokens`)).body).toEqual({
      tokens: [{ ...shown, lastUsedAt: expect.any(Number) }],
    })

    const one = `/users/${fay.id}/tokens/${made.id}`
    expect(await cat.get(`/users/${fay.id}/tokens`)).toMatchObject({ status: 403 })
    expect(await cat.delete(one)).toMatchObject({ status: 403 })
    expect(await ada.delete(`/users/${cat.id}/tokens/${made.id}`)).toMatchObject({ status: 404 })
    expect(await ada.get('/users/unknown/tokens')).toMatchObject({ status: 404 })
    expect(await ada.delete(one)).toMatchObject({ status: 200, body: { success: true } })
    await stream.ended
    expect(await program.get('/auth/me')).toMatchObject({ status: 401 })
    expect(await ada.delete(one)).toMatchObject({ status: 404 })
    expect(await environment.auditLog({ action: 'token.delete', targetId: made.id })).toMatchObject([
      { actorId: ada.id, metadata: { name: 'nightly', userId: fay.id } },
    ])
  })
})

describe('PUT /users/me with display name and title', () => {
  test('sets, keeps and removes them, and people are found by them', async () => {
    const hal = await joins('hal')
    const { body } = await hal.put('/users/me', { displayName: ' Henry  Ålesund ', title: 'Sales' })
    const profile = { id: hal.id, userName: 'hal', displayName: 'Henry Ålesund', title: 'Sales' }
    expect(body.user).toMatchObject(profile)
    await environment.events.to(environment.people.cat).toHave('UPDATE_USER', profile)
    expect(await found('åles')).toEqual([hal.id])
    const response = await hal.put('/users/me', { displayName: ' ' })
    expect(response.body.user).toMatchObject({
      displayName: null,
      title: 'Sales',
    })
    expect(await found('åles')).toEqual([])
    for (const wish of [{}, { displayName: '\u202e' }, { title: 'x'.repeat(101) }]) {
      expect(await hal.put('/users/me', wish)).toMatchObject({ status: 400 })
    }
  })

  test('data from the directory cannot be changed here', async () => {
    const ida = await joins('ida')
    await environment.deps.db.updateTable('users').set({ managedBy: 'scim' }).where('id', '=', ida.id).execute()
    expect(await ida.put('/users/me', { title: 'Boss' })).toMatchObject({
      status: 409,
      body: { code: 'managed_by_directory' },
    })
    expect(await ida.put('/users/me', { userName: 'Ida' })).toMatchObject({ status: 200 })
    expect((await ida.get('/auth/me')).body).toMatchObject({ isManaged: true })
    expect((await environment.people.ada.get('/auth/me')).body).toMatchObject({ isManaged: false })
  })
})
