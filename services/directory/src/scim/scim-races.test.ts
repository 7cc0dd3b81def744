import { randomUUID } from 'node:crypto'
import { Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { newUser, patch, scimClient } from './scim.testing.ts'

const environment = testEnvironment({ auth: { maxActiveSessions: 100 } })
const { scim } = scimClient(environment)
const address = () => `${randomUUID()}@example.org`
const statusesOf = (responses: { status: number }[]) => responses.map(({ status }) => status).sort()

describe('changes of one version', () => {
  test('by PUT and by DELETE at once: exactly one is carried out', async () => {
    for (let round = 0; round < 3; round++) {
      const email = address()
      const { body } = await scim('POST', '/Users', newUser(email))
      const path = `/Users/${body.id}`
      const ifMatch = { 'if-match': body.meta.version }
      const responses = await Promise.all([
        scim('PUT', path, newUser(email, { title: 'one' }), ifMatch),
        scim('PUT', path, newUser(email, { externalId: 'two' }), ifMatch),
        scim('DELETE', path, undefined, ifMatch),
      ])
      const done = responses.filter(({ status }) => status < 300)
      expect(done, JSON.stringify(statusesOf(responses))).toHaveLength(1)
      // A request after the DELETE finds nobody.
      for (const { status } of responses) expect([200, 204, 404, 412]).toContain(status)
      const { status, body: after } = await scim('GET', path)
      if (status === 200) expect(after.meta.version).toBe(done[0]!.body.meta.version)
    }
  })
})

describe('requests of several people at once', () => {
  test('create, rename and delete without waiting in a circle', async () => {
    const people = await Promise.all(
      Array.from({ length: 4 }, async () => (await scim('POST', '/Users', newUser(address()))).body),
    )
    const deleted = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const email = address()
        const { body } = await scim('POST', '/Users', newUser(email))
        await scim('DELETE', `/Users/${body.id}`)
        return email
      }),
    )
    const { ada } = environment.people
    const responses = await Promise.all([
      ...people.map(({ id }) => scim('PUT', `/Users/${id}`, newUser(address(), { active: true }))),
      ...deleted.map((email) => scim('POST', '/Users', newUser(email, { active: true }))),
      ...people.map(() => scim('POST', '/Users', newUser(address(), { active: true }))),
      ...people.map(() => scim('POST', '/Users', newUser(address(), { active: false }))),
      ...people.map((_, n) => ada.put(`/channels/${environment.channel.general.id}`, { topic: `topic ${n}` })),
    ])
    expect(responses.filter(({ status }) => status >= 400)).toEqual([])
  })
})

test('an address that somebody else gets at the same moment is refused with `uniqueness`', async () => {
  const [before, wanted] = [address(), address()]
  const { id } = (await scim('POST', '/Users', newUser(before))).body
  const other = (await environment.people.ada.post('/users/add', { email: address() })).body.userId
  const { change } = await environment.deps.db.transaction().execute(async (trx) => {
    await trx.updateTable('users').set({ email: wanted }).where('id', '=', other).execute()
    const change = scim('PATCH', `/Users/${id}`, patch({ op: 'replace', value: { userName: wanted } }))
    await somebodyWaitsFor(trx)
    return { change }
  })
  expect(await change).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } })
  expect((await scim('GET', `/Users/${id}`)).body.userName).toBe(before)
})

test('a deleted person whom an admin removes at the same moment is created as somebody else', async () => {
  const email = address()
  const { id } = (await scim('POST', '/Users', newUser(email))).body
  await scim('DELETE', `/Users/${id}`)
  const { creation } = await environment.deps.db.transaction().execute(async (trx) => {
    await trx.updateTable('users').set({ removedAt: Date.now() }).where('id', '=', id).execute()
    const creation = scim('POST', '/Users', newUser(email))
    await somebodyWaitsFor(trx)
    return { creation }
  })
  const created = await creation
  expect(created).toMatchObject({ status: 201, body: { userName: email, active: true } })
  expect(created.body.id).not.toBe(id)
})

/** All ways in which a person could keep their access while they are deactivated. */
describe('a deactivation at the same time as', () => {
  const off = patch({ op: 'replace', path: 'active', value: false })
  const ways: [string, (person: Person) => Promise<{ status: number; body: object }>][] = [
    [
      'a sign-in',
      (person) =>
        Person.nobody(environment.baseUrl).post('/auth/dev-login', { email: `${person.userName}@example.org` }),
    ],
    ['a refresh', ({ refreshToken }) => Person.nobody(environment.baseUrl).post('/auth/refresh', { refreshToken })],
    ['the creation of an API token', (person) => person.post('/auth/tokens', { name: 'x', scopes: ['write'] })],
  ]

  test.each(ways)('%s leaves nobody with access', async (_, way) => {
    for (let round = 0; round < 4; round++) {
      const userName = randomUUID()
      const person = await Person.signIn(environment.baseUrl, `${userName}@example.org`)
      const end =
        round % 2 === 0
          ? () => scim('PATCH', `/Users/${person.id}`, off)
          : () => environment.people.ada.put(`/users/${person.id}/active`, { isActive: false })
      const attempts = () => Array.from({ length: 4 }, () => way(person))
      const [before, ended, after] = await Promise.all([Promise.all(attempts()), end(), Promise.all(attempts())])
      expect(ended.status).toBe(200)
      const live = await environment.deps.db
        .selectFrom('sessions')
        .select('id')
        .where('userId', '=', person.id)
        .where('endedAt', 'is', null)
        .execute()
      expect(live).toEqual([])
      for (const { status, body } of [...before, ...after]) {
        expect([200, 400, 401, 403]).toContain(status)
        const token = 'accessToken' in body ? body.accessToken : 'token' in body ? body.token : undefined
        if (typeof token !== 'string') continue
        const late = new Person(environment.baseUrl, person, token)
        expect((await late.get('/auth/me')).status).toBe(401)
      }
    }
  })
})
