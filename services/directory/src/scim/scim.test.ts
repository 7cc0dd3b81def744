import { randomUUID } from 'node:crypto'
import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { newGroup, newUser, patch, scimClient } from './scim.testing.ts'

const environment = testEnvironment()
const { scim, filtered } = scimClient(environment)
const address = () => `${randomUUID()}@example.org`

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

test.each(['active eq True', 'ACTIVE EQ TRUE', 'active eq "True"'])(
  'the filter %s finds active people',
  async (filter) => {
    const email = address()
    await scim('POST', '/Users', newUser(email))
    expect((await filtered(`userName eq "${email}" and ${filter}`)).body).toMatchObject({ totalResults: 1 })
  },
)

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

test('a page may start and end at any whole number', async () => {
  const { totalResults } = (await scim('GET', '/Users?count=0')).body
  const all = await scim('GET', '/Users?count=2147483647')
  expect(all).toMatchObject({ status: 200, body: { totalResults, itemsPerPage: Math.min(totalResults, 200) } })
  const beyond = await scim('GET', '/Users?startIndex=999999999999')
  expect(beyond).toMatchObject({ status: 200, body: { totalResults, Resources: [] } })
  expect(await scim('GET', '/Users?count=1e3')).toMatchObject({ status: 400 })
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
})

test('a resource is not sent again to a client that has its version', async () => {
  const path = `/Users/${(await scim('POST', '/Users', newUser(address()))).body.id}`
  const { headers } = await scim('GET', path)
  for (const versions of [headers.etag, `W/"1", ${headers.etag}`, '*']) {
    expect(await scim('GET', path, undefined, { 'if-none-match': versions })).toMatchObject({ status: 304 })
  }
  expect(await scim('GET', path, undefined, { 'if-none-match': 'W/"1"' })).toMatchObject({ status: 200 })
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

test('the names of attributes are not case-sensitive, at any depth', async () => {
  const email = address()
  const user = { USERNAME: `erin-${email}`.replace('@', '-'), Emails: [{ Value: email, Primary: true }] }
  const { status, body } = await scim('POST', '/Users', { ...user, Name: { GivenName: 'Erin', FamilyName: 'E' } })
  expect([status, body.emails?.[0].value, body.displayName]).toEqual([201, email, 'Erin E'])
  const operations = [{ Op: 'replace', Path: 'TITLE', Value: 'Engineer' }]
  expect(await scim('PATCH', `/Users/${body.id}`, { operations })).toMatchObject({ body: { title: 'Engineer' } })
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

test('an unknown endpoint is refused in the form of SCIM', async () => {
  const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error']
  expect(await scim('GET', '/nowhere')).toMatchObject({ status: 404, body: { schemas, status: '404' } })
})

test('a slash at the end of a path changes nothing', async () => {
  const email = address()
  const { body: user } = await scim('POST', '/Users/', newUser(email))
  const path = `/Users/${user.id}`
  expect(await scim('GET', `${path}/`)).toMatchObject({ status: 200, body: { id: user.id, userName: email } })
  expect(
    (await scim('GET', `/Users/?${new URLSearchParams({ filter: `userName eq "${email}"` })}`)).body,
  ).toMatchObject({
    totalResults: 1,
  })
  expect(await scim('PATCH', `${path}/`, patch({ op: 'replace', path: 'active', value: false }))).toMatchObject({
    status: 200,
    body: { active: false },
  })
  for (const each of ['/ServiceProviderConfig/', '/Groups/', '/Schemas/', '/ResourceTypes/User/'])
    expect([each, (await scim('GET', each)).status]).toEqual([each, 200])
  expect(await scim('GET', '/Me/')).toMatchObject({ status: 501 })
  expect(await scim('DELETE', `${path}/`)).toMatchObject({ status: 204 })
  for (const each of [`${path}/`, '/Users//', '/nowhere/', '/'])
    expect([each, (await scim('GET', each)).status]).toEqual([each, 404])
  expect(await fetch(`${environment.baseUrl}/scim/v2/Users/`)).toMatchObject({ status: 401 })
})
