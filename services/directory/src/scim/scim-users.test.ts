import { randomUUID } from 'node:crypto'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { newUser, patch, scimClient } from './scim.testing.ts'

const environment = testEnvironment()
const { scim, filtered } = scimClient(environment)
const address = () => `${randomUUID()}@example.org`

describe('the requests of Entra ID', () => {
  test('find, create, change and disable a person, and end their access', async () => {
    const email = address()
    expect((await filtered(`userName eq "${email}"`)).body).toMatchObject({ totalResults: 0, Resources: [] })
    const created = await scim(
      'POST',
      '/Users',
      newUser(email, {
        externalId: 'e-1',
        active: true,
        name: { formatted: 'Erin Example' },
        title: 'Engineer',
        emails: [{ primary: true, type: 'work', value: email }],
        'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'ignored' },
      }),
    )
    expect(created).toMatchObject({
      status: 201,
      body: { userName: email, externalId: 'e-1', displayName: 'Erin Example', title: 'Engineer', active: true },
      headers: { 'content-type': 'application/scim+json; charset=utf-8', etag: created.body.meta.version },
    })
    const { id } = created.body
    await environment.events.to(environment.people.ann).toHave('NEW_USER', { id })
    expect((await filtered(`userName eq "${email.toUpperCase()}"`)).body.Resources).toMatchObject([{ id }])
    expect(await scim('POST', '/Users', newUser(email))).toMatchObject({
      status: 409,
      body: { scimType: 'uniqueness' },
    })

    const erin = await Person.signIn(environment.baseUrl, email)
    const program = await erin.post('/auth/tokens', { name: 'x', scopes: ['read'] })
    const stream = await erin.opensStream()
    const changed = await scim('PATCH', `/Users/${id}`, patch({ op: 'Replace', path: 'displayName', value: 'Erin E' }))
    expect(changed).toMatchObject({ status: 200, body: { displayName: 'Erin E', title: 'Engineer' } })
    expect(await erin.put('/users/me', { displayName: 'Me' })).toMatchObject({ status: 409 })

    const disabled = await scim('PATCH', `/Users/${id}`, patch({ op: 'Replace', path: 'active', value: 'False' }))
    expect(disabled).toMatchObject({ status: 200, body: { active: false } })
    await stream.ended
    const byToken = new Person(environment.baseUrl, erin, program.body.token)
    expect([(await erin.get('/auth/me')).status, (await byToken.get('/auth/me')).status]).toEqual([401, 401])

    expect(await scim('DELETE', `/Users/${id}`)).toMatchObject({ status: 204 })
    expect(await scim('GET', `/Users/${id}`)).toMatchObject({ status: 404 })
    const again = await scim('POST', '/Users', newUser(email, { displayName: 'Erin is back' }))
    expect(again).toMatchObject({ status: 201, body: { id, active: true, displayName: 'Erin is back' } })
    const { entries } = (await environment.people.ada.get('/admin/audit-log?action=user.deactivate')).body
    expect(entries).toContainEqual(expect.objectContaining({ targetId: id, actorId: expect.stringMatching(/^scim:/) }))
  })
})

test('the requests of Okta create, find, replace and deactivate a person', async () => {
  const email = address()
  const user = newUser(email, {
    name: { givenName: 'Olga', familyName: 'Okta' },
    emails: [{ value: email, primary: true }],
    active: true,
  })
  expect(
    (await scim('GET', `/Users?startIndex=1&count=100&filter=userName%20eq%20%22${email}%22`)).body.totalResults,
  ).toBe(0)
  const { body } = await scim('POST', '/Users', user)
  expect(body).toMatchObject({ displayName: 'Olga Okta' })
  const replaced = await scim('PUT', `/Users/${body.id}`, { ...user, id: body.id, title: 'Officer' })
  expect(replaced.body).toMatchObject({ title: 'Officer', active: true })
  const gone = await scim('PATCH', `/Users/${body.id}`, patch({ op: 'replace', value: { active: false } }))
  expect(gone.body.active).toBe(false)
})

test('a guest whose time is over is not activated by the next change of their profile', async () => {
  const { ada } = environment.people
  const email = address()
  const { id } = (await scim('POST', '/Users', newUser(email))).body
  await ada.put(`/users/${id}/role`, { role: 'guest', expiresAt: environment.deps.clock() + 60_000 })
  const users = environment.deps.db.updateTable('users').where('id', '=', id)
  await users.set({ guestExpiresAt: 1, deactivatedAt: 2 }).execute()
  const whole = newUser(email, { title: 'Contractor', active: true })
  expect((await scim('PUT', `/Users/${id}`, whole)).body).toMatchObject({ title: 'Contractor', active: false })
  const on = patch({ op: 'Replace', path: 'active', value: 'True' })
  expect(await scim('PATCH', `/Users/${id}`, on)).toMatchObject({ status: 200, body: { active: false } })
  expect(await ada.put(`/users/${id}/role`, { role: 'member' })).toMatchObject({ status: 200 })
  expect((await scim('PATCH', `/Users/${id}`, on)).body).toMatchObject({ active: true })
})

describe('a deleted person who is created again', () => {
  const create = (userName: string, email?: string) =>
    scim('POST', '/Users', newUser(userName, email === undefined ? {} : { emails: [{ value: email }] }))
  const createAndDelete = async (userName: string, email?: string): Promise<string> => {
    const { id } = (await create(userName, email)).body
    await scim('DELETE', `/Users/${id}`)
    return id
  }

  test('is the owner of the address when another deleted person has the userName, who gives it up', async () => {
    const [userName, former, email] = [`erin-${randomUUID()}`, address(), address()]
    const other = await createAndDelete(userName, former)
    const id = await createAndDelete(`olga-${randomUUID()}`, email)
    expect(await create(userName, email)).toMatchObject({ status: 201, body: { id, userName, active: true } })
    expect(await create(former)).toMatchObject({ status: 201, body: { id: other, userName: former } })
  })

  test('gives up the userName, but not the address, when somebody else is renamed to it', async () => {
    const [userName, email] = [`erin-${randomUUID()}`, address()]
    const deleted = await createAndDelete(userName, email)
    const { id } = (await create(`olga-${randomUUID()}`, address())).body
    const rename = (value: string) => scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'userName', value }))
    expect(await rename(userName.toUpperCase())).toMatchObject({ status: 200 })
    expect(await rename(email)).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } })
    expect(await create(userName, email)).toMatchObject({ status: 409, body: { scimType: 'uniqueness' } })
    expect(await create(email)).toMatchObject({ status: 201, body: { id: deleted, userName: email } })
  })

  test('has an entry in the audit log when somebody else gets the userName', async () => {
    const [first, second] = [`erin-${randomUUID()}`, `olga-${randomUUID()}`]
    const deleted = await createAndDelete(first, address())
    const { id } = (await create(second, address())).body
    await scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'userName', value: first }))
    const { entries } = (await environment.people.ada.get('/admin/audit-log?action=user.profile.update')).body
    const renamed = (targetId: string, from: string, to: string | null) =>
      expect.objectContaining({
        targetId,
        actorId: expect.stringMatching(/^scim:/),
        metadata: { from: { scimUserName: from }, to: { scimUserName: to } },
      })
    expect(entries).toContainEqual(renamed(deleted, first, null))
    expect(entries).toContainEqual(renamed(id, second, first))
  })

  test('is found by the other spelling of the address', async () => {
    const name = randomUUID()
    const id = await createAndDelete(`${name}@łódź.pl`)
    expect(await create(`${name}@xn--d-uga0v4h.pl`)).toMatchObject({ status: 201, body: { id } })
  })
})

test('a changed address is in the audit log', async () => {
  const [from, to] = [address(), address()]
  const { body } = await scim('POST', '/Users', newUser(from))
  await scim('PUT', `/Users/${body.id}`, newUser(to))
  const { entries } = (await environment.people.ada.get('/admin/audit-log?action=user.email.update')).body
  const actorId = expect.stringMatching(/^scim:/)
  expect(entries).toContainEqual(expect.objectContaining({ targetId: body.id, actorId, metadata: { from, to } }))
})

test('everybody gets an event of a changed address', async () => {
  const [from, to] = [address(), address()]
  const { id } = (await scim('POST', '/Users', newUser(from))).body
  await scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'userName', value: to }))
  await environment.events.to(environment.people.ann).toHave('UPDATE_USER', { id, email: to })
})

test('a PATCH of `emails` changes the address only of people whose userName is no address', async () => {
  const path = 'emails[type eq "work"].value'
  const set = async (id: string, value: string) =>
    (await scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path, value }))).body
  const [userName, email, later] = [address(), address(), address()]
  const { id } = (await scim('POST', '/Users', newUser(userName))).body
  expect(await set(id, later)).toMatchObject({ userName, emails: [{ value: userName }] })
  expect((await filtered(`userName eq "${userName}"`)).body.Resources).toMatchObject([{ id }])

  const name = `erin-${later.slice(0, 8)}`
  const named = (await scim('POST', '/Users', newUser(name, { emails: [{ value: email }] }))).body
  expect(await set(named.id, later)).toMatchObject({ userName: name, emails: [{ value: later }] })
})

describe('a PATCH of an address of another type', () => {
  test.each([
    ['a path with a filter', { op: 'Add', path: 'emails[type eq "other"].value', value: 'home@example.org' }],
    ['a list', { op: 'add', path: 'emails', value: [{ type: 'home', value: 'home@example.org' }] }],
  ])('leaves the address as it is: %s', async (_, operation) => {
    const emails = [{ type: 'work', value: address(), primary: true }]
    const { id } = (await scim('POST', '/Users', newUser(`erin-${randomUUID()}`, { emails }))).body
    const response = await scim('PATCH', `/Users/${id}`, patch(operation))
    expect(response).toMatchObject({ status: 200, body: { emails } })
  })
})

test.each([
  ['emails', { type: 'work', value: 'one@example.org' }],
  ['emails[type eq "work"]', { type: 'work', value: 'two@example.org', primary: true }],
])('a PATCH of %s takes one address without a list', async (path, value) => {
  const emails = [{ value: address() }]
  const { id } = (await scim('POST', '/Users', newUser(`erin-${randomUUID()}`, { emails }))).body
  const response = await scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path, value }))
  expect(response.body.emails).toMatchObject([{ value: value.value }])
})

test('the last of several names in one PATCH is stored, and `displayName` comes first', async () => {
  const path = `/Users/${(await scim('POST', '/Users', newUser(address()))).body.id}`
  const set = (path: string, value: unknown) => ({ op: 'replace', path, value })
  const named = await scim('PATCH', path, patch(set('name.formatted', 'First'), set('name', { formatted: 'Second' })))
  expect(named.body).toMatchObject({ displayName: 'Second' })
  const both = await scim('PATCH', path, patch(set('displayName', 'Shown'), set('name.formatted', 'Formatted')))
  expect(both.body).toMatchObject({ displayName: 'Shown' })
})

test.each([
  { op: 'remove', path: 'name' },
  { op: 'replace', path: 'name', value: null },
  { op: 'replace', value: { name: null } },
])('%j removes the name', async (operation) => {
  const created = await scim('POST', '/Users', newUser(address(), { name: { givenName: 'Erin', familyName: 'Ek' } }))
  expect(created.body).toMatchObject({ displayName: 'Erin Ek', name: { formatted: 'Erin Ek' } })
  const { status, body } = await scim('PATCH', `/Users/${created.body.id}`, patch(operation))
  expect(status).toBe(200)
  expect(body).not.toHaveProperty('name')
  expect(body).not.toHaveProperty('displayName')
})

test('the last admin stays', async () => {
  const { ada } = environment.people
  const off = await scim('PATCH', `/Users/${ada.id}`, patch({ op: 'replace', path: 'active', value: false }))
  expect(off).toMatchObject({ status: 409, body: { scimType: 'mutability' } })
  expect(await scim('DELETE', `/Users/${ada.id}`)).toMatchObject({ status: 409, body: { scimType: 'mutability' } })
})

test.each([
  ['no userName', newUser('')],
  ['a userName that is no address, and none in emails', newUser('erin')],
  ['a list', []],
  ['active that is neither', newUser('x@example.org', { active: 'perhaps' })],
  ['a title that is no text', newUser('x@example.org', { title: { __proto__: 1 } })],
])('a user with %s is refused', async (_, body) => {
  expect(await scim('POST', '/Users', body)).toMatchObject({ status: 400, body: { schemas: [expect.any(String)] } })
})

test('required attributes of a person cannot be removed', async () => {
  const { id } = (await scim('POST', '/Users', newUser('whole@example.org'))).body
  for (const path of ['active', 'emails', 'urn:ietf:params:scim:schemas:core:2.0:User:userName']) {
    const response = await scim('PATCH', `/Users/${id}`, patch({ op: 'remove', path }))
    expect(response).toMatchObject({ status: 400, body: { scimType: 'mutability', status: '400' } })
  }
  // Entra ID does this when a person has no address any more. The last address stays.
  const emptied = patch({ op: 'Remove', path: 'emails[type eq "work"].value' })
  expect((await scim('PATCH', `/Users/${id}`, emptied)).body.emails).toMatchObject([{ value: 'whole@example.org' }])
})

test.each([
  ['a number', { op: 'replace', path: 'title', value: 7 }, 'title must be text'],
  ['1,001 characters', { op: 'replace', path: 'title', value: 'x'.repeat(1_001) }, 'title may have at most 1000'],
  ['blanks', { op: 'replace', path: 'userName', value: '  ' }, 'userName must not be empty'],
])('a value of %s is refused with the true reason', async (_, operation, reason) => {
  const { id } = (await scim('POST', '/Users', newUser(`${randomUUID()}@example.org`))).body
  const { status, body } = await scim('PATCH', `/Users/${id}`, patch(operation))
  expect([status, body.scimType, body.detail]).toEqual([400, 'invalidValue', expect.stringContaining(reason)])
})
