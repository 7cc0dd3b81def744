import { randomUUID } from 'node:crypto'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { newGroup, newUser, patch, scimClient } from './scim.testing.ts'

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

describe('filters', () => {
  test.each([
    ['userName eq "ann@example.com"', 1],
    ['userName sw "ANN@" and active eq true', 1],
    ['emails.value co "nn@example" or externalId eq "none"', 1],
    ['emails[type eq "work" and value eq "ann@example.com"]', 1],
    ['not (userName pr)', 0],
    ['userName ew "@nowhere.example"', 0],
    ['userName gt "ann@example.co" and userName le "ann@example.com"', 1],
    ['meta.lastModified lt "2001-01-01T00:00:00Z"', 0],
    [`userName eq "x' or 1=1 --"`, 0],
    ['userName eq "%"', 0],
  ])('%s finds %i', async (filter, count) => {
    expect((await filtered(filter)).body).toMatchObject({ totalResults: count })
  })

  test.each([
    'password eq "x"',
    'userName',
    'userName eq',
    'userName eq true',
    'active gt true',
    'active eq "perhaps"',
    'meta.lastModified co "2001"',
    'meta.lastModified gt "yesterday"',
    'constructor eq "x"',
    'userName eq "x"; drop table users',
    `${'('.repeat(1_200)}userName pr${')'.repeat(1_200)}`,
  ])('%s is refused', async (filter) => {
    expect(await filtered(filter)).toMatchObject({ status: 400, body: { status: '400', scimType: 'invalidFilter' } })
  })
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

describe('a text in a filter', () => {
  const name = `DOMAIN\\bob "é" ${randomUUID()}`
  const quoted = JSON.stringify(name)

  test.each([
    ['is JSON', quoted],
    ['may have any character escaped', quoted.replace('é', '\\u00e9').replace('D', '\\u0044')],
    ['may have backslashes that are not escaped', quoted.replace('\\\\', '\\')],
  ])('%s', async (_, text) => {
    const { id } = (await scim('POST', '/Users', newUser(address(), { externalId: name }))).body
    expect((await filtered(`externalId eq ${text}`)).body.Resources).toContainEqual(expect.objectContaining({ id }))
    expect((await filtered(`externalId eq ${text.replace('bob', 'bib')}`)).body).toMatchObject({ totalResults: 0 })
  })
})

test.each(['active eq True', 'ACTIVE EQ TRUE', 'active eq "True"'])(
  'the filter %s finds active people',
  async (filter) => {
    const email = address()
    await scim('POST', '/Users', newUser(email))
    expect((await filtered(`userName eq "${email}" and ${filter}`)).body).toMatchObject({ totalResults: 1 })
  },
)

test('a page may start and end at any whole number', async () => {
  const { totalResults } = (await scim('GET', '/Users?count=0')).body
  const all = await scim('GET', '/Users?count=2147483647')
  expect(all).toMatchObject({ status: 200, body: { totalResults, itemsPerPage: Math.min(totalResults, 200) } })
  const beyond = await scim('GET', '/Users?startIndex=999999999999')
  expect(beyond).toMatchObject({ status: 200, body: { totalResults, Resources: [] } })
  expect(await scim('GET', '/Users?count=1e3')).toMatchObject({ status: 400 })
})

describe('a PATCH in an older form of Microsoft', () => {
  const asList = (path: string, value: unknown) => ({ op: 'Replace', path, value: [{ $ref: null, value }] })

  test('has single values in lists', async () => {
    const { id } = (await scim('POST', '/Users', newUser(address()))).body
    const operations = [asList('active', 'False'), asList('displayName', 'Erin E'), asList('title', 'Engineer')]
    const response = await scim('PATCH', `/Users/${id}`, patch(...operations))
    expect(response).toMatchObject({ status: 200, body: { active: false, displayName: 'Erin E', title: 'Engineer' } })
    const two = { op: 'Replace', path: 'title', value: [{ value: 'a' }, { value: 'b' }] }
    expect(await scim('PATCH', `/Users/${id}`, patch(two))).toMatchObject({ status: 400 })
    const group = (await scim('POST', '/Groups', newGroup(`Group ${id}`))).body
    const rename = patch(asList('displayName', `Renamed ${id}`))
    expect(await scim('PATCH', `/Groups/${group.id}?attributes=displayName`, rename)).toMatchObject({
      status: 200,
      body: { displayName: `Renamed ${id}` },
    })
  })

  test.each([null, ''])('has the path %j for no path', async (path) => {
    const { id } = (await scim('POST', '/Users', newUser(address()))).body
    const response = await scim('PATCH', `/Users/${id}`, patch({ op: 'replace', path, value: { title: 'Engineer' } }))
    expect(response).toMatchObject({ status: 200, body: { title: 'Engineer' } })
    const remove = await scim('PATCH', `/Users/${id}`, patch({ op: 'remove', path }))
    expect(remove).toMatchObject({ status: 400, body: { scimType: 'noTarget' } })
  })
})

test('pages count from 1, and attributes are chosen', async () => {
  const first = (await scim('GET', '/Users?count=1&attributes=userName,name.formatted')).body
  const second = (await scim('GET', '/Users?startIndex=2&count=1&excludedAttributes=meta,emails')).body
  expect(first).toMatchObject({ startIndex: 1, itemsPerPage: 1 })
  expect(
    Object.keys(first.Resources[0])
      .filter((key) => key !== 'name')
      .sort(),
  ).toEqual(['id', 'schemas', 'userName'])
  expect(second.Resources[0].id).not.toBe(first.Resources[0].id)
  expect(second.Resources[0]).not.toHaveProperty('meta')
  expect((await scim('GET', '/Users?count=0')).body).toMatchObject({ totalResults: first.totalResults, Resources: [] })
})

test('concurrent changes of one version: exactly one is executed', async () => {
  const { body } = await scim('POST', '/Users', newUser(address()))
  const path = `/Users/${body.id}`
  const responses = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      scim('PATCH', path, patch({ op: 'replace', path: 'title', value: `title ${n}` }), {
        'if-match': body.meta.version,
      }),
    ),
  )
  expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(412)])
  const { headers } = await scim('GET', path)
  for (const versions of [headers.etag, `W/"1", ${headers.etag}`, '*']) {
    expect(await scim('GET', path, undefined, { 'if-none-match': versions })).toMatchObject({ status: 304 })
  }
  expect(await scim('GET', path, undefined, { 'if-none-match': 'W/"1"' })).toMatchObject({ status: 200 })
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
  { op: 'remove', path: 'name.formatted' },
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

test('the names of attributes are not case-sensitive, at any depth', async () => {
  const email = address()
  const user = { USERNAME: `erin-${email}`.replace('@', '-'), Emails: [{ Value: email, Primary: true }] }
  const { status, body } = await scim('POST', '/Users', { ...user, Name: { GivenName: 'Erin', FamilyName: 'E' } })
  expect([status, body.emails?.[0].value, body.displayName]).toEqual([201, email, 'Erin E'])
  const operations = [{ Op: 'replace', Path: 'TITLE', Value: 'Engineer' }]
  expect(await scim('PATCH', `/Users/${body.id}`, { operations })).toMatchObject({ body: { title: 'Engineer' } })
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

test('a patch cannot change a prototype or a read-only attribute', async () => {
  const { body } = await scim('POST', '/Users', newUser(address()))
  const path = `/Users/${body.id}`
  await scim('PATCH', path, patch({ op: 'add', path: 'constructor.prototype', value: { polluted: true } }))
  expect(({} as { polluted?: boolean }).polluted).toBe(undefined)
  for (const readOnly of ['id', 'meta.version', 'groups']) {
    for (const op of ['replace', 'remove']) {
      expect(await scim('PATCH', path, patch({ op, path: readOnly, value: 'x' }))).toMatchObject({
        status: 400,
        body: { scimType: 'mutability' },
      })
    }
  }
  expect(await scim('PATCH', path, patch({ op: 'remove' }))).toMatchObject({ body: { scimType: 'noTarget' } })
  expect(await scim('PATCH', path, patch({ op: 'move', path: 'title' }))).toMatchObject({ status: 400 })
})

test('a client uses its token under /scim/v2 alone, until it is deleted; no other token is good there', async () => {
  const { ada, ann } = environment.people
  expect(await ann.post('/admin/scim-clients', { name: 'mine' })).toMatchObject({ status: 403 })
  const { body: client } = await ada.post('/admin/scim-clients', { name: 'another' })
  const asClient = { authorization: `Bearer ${client.token}` }
  expect(await scim('GET', '/Users?count=0', undefined, asClient)).toMatchObject({ status: 200 })
  const outside = new Person(environment.baseUrl, ada, client.token)
  for (const path of ['/auth/me', '/users', '/admin/audit-log', '/events']) {
    expect([path, (await outside.get(path)).status]).toEqual([path, 401])
  }
  const apiToken = (await ada.post('/auth/tokens', { name: 'x', scopes: ['admin'] })).body.token
  for (const other of [ada.token, apiToken]) {
    const response = await scim('GET', '/Users', undefined, { authorization: `Bearer ${other}` })
    expect(response).toMatchObject({ status: 401, body: { status: '401' } })
  }
  expect((await ada.get('/admin/scim-clients')).body.clients.map(({ id }: { id: string }) => id)).toContain(client.id)
  expect(await ada.delete(`/admin/scim-clients/${client.id}`)).toMatchObject({ status: 200 })
  expect(await scim('GET', '/Users', undefined, asClient)).toMatchObject({ status: 401 })
})

test('describes its features', async () => {
  expect((await scim('GET', '/ServiceProviderConfig')).body).toMatchObject({
    patch: { supported: true },
    bulk: { supported: false },
  })
  expect((await scim('GET', '/ResourceTypes')).body.Resources).toMatchObject([{ id: 'User' }, { id: 'Group' }])
  expect((await scim('GET', '/Schemas/urn:ietf:params:scim:schemas:core:2.0:User')).status).toBe(200)
  for (const path of ['/ServiceProviderConfig', '/ResourceTypes', '/Schemas']) {
    expect(await filtered('name eq "User"', path)).toMatchObject({ status: 403, body: { status: '403' } })
  }
  for (const path of ['/Me', '/Bulk']) expect(await scim('POST', path, {})).toMatchObject({ status: 501 })
})

test('a filter that is given twice is refused, because a list without it would have everybody', async () => {
  const filter = `filter=${encodeURIComponent('userName eq "nobody@example.org"')}`
  expect((await scim('GET', `/Users?${filter}`)).body).toMatchObject({ totalResults: 0 })
  for (const path of ['/Users', '/Groups']) {
    expect(await scim('GET', `${path}?${filter}&${filter}`)).toMatchObject({
      status: 400,
      body: { scimType: 'invalidFilter', detail: 'filter must be a text that is given only once' },
    })
  }
  const [first] = (await scim('GET', '/Users?count=1&attributes=userName&attributes=active')).body.Resources
  expect(Object.keys(first).sort()).toEqual(['active', 'id', 'schemas', 'userName'])
})

test('a body that cannot be read is refused for its syntax', async () => {
  const refused = { status: 400, body: { scimType: 'invalidSyntax' } }
  expect(await scim('POST', '/Users', Buffer.from('{"userName": '))).toMatchObject(refused)
  expect(await scim('POST', '/Users', Buffer.from('<User/>'), { 'content-type': 'text/xml' })).toMatchObject(refused)
})

test('a search by POST is the same as by GET, over people, groups or both', async () => {
  const user = (await scim('POST', '/Users', newUser('searched@example.org'))).body
  const filter = 'userName eq "searched@example.org"'
  const search = { filter, attributes: ['userName'], startIndex: 1, count: 5 }
  const found = await scim('POST', '/Users/.search', search)
  expect(found.body).toMatchObject({ totalResults: 1, Resources: [{ id: user.id, userName: 'searched@example.org' }] })
  expect(found.body.Resources[0]).not.toHaveProperty('emails')
  const group = (await scim('POST', '/Groups', newGroup('Searched', { externalId: 'searched' }))).body
  expect((await scim('POST', '/Groups/.search', { filter: 'displayName eq "Searched"' })).body.totalResults).toBe(1)
  const both = await scim('POST', '/.search', { filter: 'externalId eq "searched"' })
  expect(both.body.Resources).toMatchObject([{ id: group.id, meta: { resourceType: 'Group' } }])
  const all = (await scim('POST', '/.search', {})).body
  const last = await scim('POST', '/.search', { startIndex: all.totalResults, count: 1 })
  expect(last.body).toMatchObject({ totalResults: all.totalResults, itemsPerPage: 1, startIndex: all.totalResults })
  expect(last.body.Resources).toMatchObject([{ meta: { resourceType: 'Group' } }])
  expect(await scim('POST', '/.search', { filter: 'userName eq "x"' })).toMatchObject({
    status: 400,
    body: { scimType: 'invalidFilter' },
  })
})

describe.each(['/.search', '/Users/.search', '/Groups/.search'])('a search at %s', (path) => {
  const odd = { toString: 1, valueOf: 1 }

  test.each([
    ['filter', odd, 'invalidFilter'],
    ['filter', [odd], 'invalidFilter'],
    ['filter', ['displayName pr', 'displayName pr'], 'invalidFilter'],
    ['startIndex', odd, 'invalidValue'],
    ['count', [odd], 'invalidValue'],
  ])('refuses %s %j', async (name, value, scimType) => {
    expect(await scim('POST', path, { [name]: value })).toMatchObject({ status: 400, body: { scimType } })
  })

  test('ignores attributes that are no names, and null', async () => {
    const search = { attributes: [odd], excludedAttributes: odd, filter: null, count: 1 }
    expect(await scim('POST', path, search)).toMatchObject({ status: 200, body: { itemsPerPage: 1 } })
  })
})

test('a new group with a member that is no id is refused with this id', async () => {
  const response = await scim('POST', '/Groups', newGroup('Clumsy', { members: [{ value: 'nobody' }] }))
  const body = { scimType: 'invalidValue', detail: 'members has an unknown id: nobody' }
  expect(response).toMatchObject({ status: 400, body })
})

test('required attributes cannot be removed, and an unknown endpoint is refused in the form of SCIM', async () => {
  const { id } = (await scim('POST', '/Users', newUser('whole@example.org'))).body
  for (const path of ['active', 'emails', 'urn:ietf:params:scim:schemas:core:2.0:User:userName']) {
    const response = await scim('PATCH', `/Users/${id}`, patch({ op: 'remove', path }))
    expect(response).toMatchObject({ status: 400, body: { scimType: 'mutability', status: '400' } })
  }
  // Entra ID does this when a person has no address any more. The last address stays.
  const emptied = patch({ op: 'Remove', path: 'emails[type eq "work"].value' })
  expect((await scim('PATCH', `/Users/${id}`, emptied)).body.emails).toMatchObject([{ value: 'whole@example.org' }])
  const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error']
  expect(await scim('GET', '/nowhere')).toMatchObject({ status: 404, body: { schemas, status: '404' } })
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
