import { deactivateUser } from '@parley/accounts'
import type { Presence } from '@parley/contract'
import { Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment({ events: { offlineSeconds: 1 } })

const listed = async (by = environment.people.ann): Promise<Presence[]> => (await by.get('/presence')).body.presence
const statusOf = async ({ id }: Person) => (await listed()).find(({ userId }) => userId === id)?.status

describe('GET /presence', () => {
  test('lists everybody, and people without a stream as offline', async () => {
    const { ada, ann, bob, cat } = environment.people
    const { body } = await ada.post('/users/add', { email: 'new@example.com', role: 'user' })
    const all = await listed(cat)
    const [users] = [(await cat.get('/users')).body.users]
    expect(all.map(({ userId }) => userId).toSorted()).toEqual(users.map(({ id }: { id: string }) => id).toSorted())
    expect(all).toContainEqual({ userId: body.userId, status: 'offline', lastSeen: expect.any(Number) })
    for (const { id } of [ada, ann, bob, cat]) {
      expect(all).toContainEqual({ userId: id, status: 'online', lastSeen: expect.any(Number) })
    }
  })

  test('forgets removed people', async () => {
    const eve = await Person.signIn(environment.baseUrl, 'eve@example.com')
    expect(await eve.put('/presence/me', { status: 'away' })).toMatchObject({ status: 200 })
    expect(await statusOf(eve)).toBe('away')
    await environment.people.ada.delete(`/users/${eve.id}`)
    expect(await statusOf(eve)).toBeUndefined()
  })

  test('lists the people with the given ids; unknown ids are left out', async () => {
    const { ann, bob, cat } = environment.people
    const ask = (ids: string[]) => cat.get(`/presence?ids=${ids.join(',')}`)
    const { status, body } = await ask([bob.id, ann.id, bob.id, crypto.randomUUID(), 'nobody', ''])
    expect(status).toBe(200)
    expect(body).toEqual({
      presence: [ann, bob]
        .map(({ id }) => ({ userId: id, status: 'online', lastSeen: expect.any(Number) }))
        .toSorted((a, b) => (a.userId < b.userId ? -1 : 1)),
      hasMore: false,
    })
    expect((await ask([])).body).toEqual({ presence: [], hasMore: false })
    expect((await ask(Array(200).fill(ann.id))).body.presence).toHaveLength(1)
    expect(await ask(Array(201).fill(ann.id))).toMatchObject({ status: 400 })
    expect(await cat.get(`/presence?ids=${ann.id}&after=${ann.id}`)).toMatchObject({ status: 400 })
  })

  test('is for people who are signed in', async () => {
    expect(await environment.people.nobody.get('/presence')).toMatchObject({ status: 401 })
  })
})

describe('PUT /presence/me', () => {
  test('is visible at once, is sent to everybody including the caller, and stays', async () => {
    const { ann, bob, cat } = environment.people
    for (const status of ['away', 'offline', 'online', 'away'] as const) {
      expect(await ann.put('/presence/me', { status })).toMatchObject({
        status: 200,
        body: { userId: ann.id, status, lastSeen: expect.any(Number) },
      })
      expect(await statusOf(ann)).toBe(status)
      for (const person of [ann, bob, cat])
        await environment.events.to(person).toHave('PRESENCE_UPDATE', { userId: ann.id, status })
    }
    const another = await ann.opensStream()
    expect(await statusOf(ann)).toBe('away')
    await another.close()
  })

  test.each([
    { status: 'busy' },
    { status: 'ONLINE' },
    { status: null },
    { status: ['away'] },
    { status: '' },
    {},
    [],
    '"away"',
    '{',
    undefined,
  ])('refuses %j', async (body) => {
    const before = await statusOf(environment.people.bob)
    expect(await environment.people.bob.put('/presence/me', body)).toMatchObject({
      status: 400,
      body: { error: expect.any(String) },
    })
    expect(await statusOf(environment.people.bob)).toBe(before)
  })

  test('is refused when the person is deactivated at the same moment', async () => {
    const { baseUrl, deps, people } = environment
    const eve = await Person.signIn(baseUrl, 'eve@example.com')
    const { change } = await deps.db.transaction().execute(async (trx) => {
      await deactivateUser(trx, eve.id, { actorId: people.ada.id, ip: null, now: Date.now() })
      const change = eve.put('/presence/me', { status: 'away' })
      await somebodyWaitsFor(trx)
      return { change }
    })
    expect(await change).toMatchObject({ status: 401 })
    expect(await statusOf(eve)).toBe('offline')
  })

  test('is for people who are signed in', async () => {
    expect(await environment.people.nobody.put('/presence/me', { status: 'away' })).toMatchObject({ status: 401 })
  })
})
