import { randomUUID } from 'node:crypto'
import { testEnvironment } from '@parley/test/test-environment'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { newGroup, newUser, patch, scimClient } from './scim.testing.ts'

const environment = testEnvironment({ scim: { adminGroups: ['Parley Admins', 'Owners', 'ΔΙΑΧΕΙΡΙΣΤΈΣ'] } })
const { scim, filtered } = scimClient(environment)
const unique = (name: string) => `${name} ${randomUUID().slice(0, 8)}`

let erin: string
let olga: string
beforeAll(async () => {
  erin = await createUser('erin')
  olga = await createUser('olga')
})

const createUser = async (name: string): Promise<string> =>
  (await scim('POST', '/Users', newUser(`${name}-${randomUUID()}@example.org`))).body.id
const createGroup = async (displayName: string, ...ids: string[]) =>
  (await scim('POST', '/Groups', newGroup(displayName, { members: ids.map((value) => ({ value })) }))).body
const membersOf = async (id: string): Promise<string[]> =>
  (((await scim('GET', `/Groups/${id}`)).body.members ?? []) as { value: string }[]).map(({ value }) => value).sort()
const isAdmin = async (id: string) =>
  (await environment.deps.db.selectFrom('users').select('isAdmin').where('id', '=', id).executeTakeFirstOrThrow())
    .isAdmin
const auditOf = async (action: string) =>
  (await environment.people.ada.get(`/admin/audit-log?action=${action}`)).body.entries

test('the requests of Entra ID create a group, add and remove members, rename and delete it', async () => {
  const name = unique('Sales & Marketing')
  expect((await filtered(`displayName eq "${name}"`, '/Groups')).body).toMatchObject({ totalResults: 0 })
  const created = await scim('POST', '/Groups', newGroup(name, { externalId: 'g-1' }))
  expect(created).toMatchObject({
    status: 201,
    body: { displayName: name, externalId: 'g-1', meta: { resourceType: 'Group' } },
    headers: { etag: created.body.meta.version, location: created.body.meta.location },
  })
  const { id } = created.body
  const { ann } = environment.people
  const handle = name.toLowerCase().replace(' & ', '-').replaceAll(' ', '-')
  await environment.events.to(ann).toHave('NEW_GROUP', { id, handle, source: 'scim' })
  const path = `/Groups/${id}`

  expect(await scim('POST', '/Groups', newGroup(name.toUpperCase()))).toMatchObject({
    status: 409,
    body: { scimType: 'uniqueness' },
  })
  const add = {
    op: 'Add',
    path: 'members',
    value: [
      { $ref: null, value: erin },
      { $ref: null, value: olga },
    ],
  }
  expect(await scim('PATCH', path, patch(add))).toMatchObject({ status: 204, body: undefined })
  expect(await membersOf(id)).toEqual([erin, olga].sort())
  expect((await scim('GET', `${path}?excludedAttributes=members`)).body).not.toHaveProperty('members')
  expect((await scim('GET', `/Users/${erin}`)).body.groups).toMatchObject([{ value: id, display: name }])

  const remove = { op: 'Remove', path: 'members', value: [{ $ref: null, value: erin }] }
  expect(await scim('PATCH', path, patch(remove))).toMatchObject({ status: 204 })
  expect(await membersOf(id)).toEqual([olga])
  const entries = await auditOf('group.members.update')
  const actorId = expect.stringMatching(/^scim:/)
  expect(entries).toContainEqual(expect.objectContaining({ targetId: id, actorId }))

  const renamed = unique('Sellers')
  const rename = patch({ op: 'Replace', path: 'displayName', value: renamed })
  expect(await scim('PATCH', path, rename)).toMatchObject({ status: 204 })
  const { body } = await filtered('externalId eq "g-1"', '/Groups')
  expect(body.Resources).toMatchObject([{ id, displayName: renamed }])
  expect((await ann.get('/groups')).body.groups).toContainEqual(expect.objectContaining({ handle, name: renamed }))

  expect(await scim('DELETE', path)).toMatchObject({ status: 204 })
  expect(await scim('GET', path)).toMatchObject({ status: 404 })
  expect((await scim('GET', `/Users/${olga}`)).body).not.toHaveProperty('groups')
})

test('the requests of Okta push a group, replace it, and change members by paths with filters', async () => {
  const name = unique('Okta')
  const { id } = await createGroup(name, erin)
  const path = `/Groups/${id}`
  const changed = await scim(
    'PATCH',
    `${path}?attributes=members`,
    patch(
      { op: 'remove', path: `members[value eq "${erin}"]` },
      { op: 'add', path: 'members', value: [{ value: olga, display: 'olga' }] },
    ),
  )
  expect(changed).toMatchObject({ status: 200, body: { id, members: [{ value: olga }] } })
  const other = unique('Renamed')
  const operation = { op: 'replace', value: { id, displayName: other } }
  expect(await scim('PATCH', path, patch(operation))).toMatchObject({ status: 204 })
  expect(await scim('PATCH', path, patch({ op: 'replace', path: 'members', value: [{ value: erin }] }))).toMatchObject({
    status: 204,
  })
  expect(await membersOf(id)).toEqual([erin])
  const replaced = await scim('PUT', path, newGroup(other, { members: [{ value: olga }] }))
  expect(replaced).toMatchObject({ status: 200, body: { displayName: other, members: [{ value: olga }] } })
  await scim('PATCH', path, patch({ op: 'remove', path: 'members' }))
  expect(await membersOf(id)).toEqual([])
})

test('members are changed by paths that end with .value too', async () => {
  const { id } = await createGroup(unique('Values'), erin)
  const path = `/Groups/${id}`
  const add = { op: 'add', path: 'members.value', value: [olga] }
  expect(await scim('PATCH', path, patch(add))).toMatchObject({ status: 204 })
  expect(await membersOf(id)).toEqual([erin, olga].sort())
  const remove = { op: 'remove', path: `members[value eq "${erin}"].value` }
  expect(await scim('PATCH', path, patch(remove))).toMatchObject({ status: 204 })
  expect(await membersOf(id)).toEqual([olga])
  const replace = { op: 'replace', path: 'members.value', value: erin }
  expect(await scim('PATCH', path, patch(replace))).toMatchObject({ status: 204 })
  expect(await membersOf(id)).toEqual([erin])
})

describe('a path that names several members', () => {
  const pathOf = (ids: readonly string[]) => `members[${ids.map((id) => `value eq "${id}"`).join(' or ')}]`

  test('removes exactly these', async () => {
    const { id } = await createGroup(unique('Several'), erin, olga, environment.people.ada.id)
    const path = `/Groups/${id}`
    expect(
      await scim('PATCH', path, patch({ op: 'remove', path: pathOf([erin.toUpperCase(), olga, randomUUID()]) })),
    ).toMatchObject({ status: 204 })
    expect(await membersOf(id)).toEqual([environment.people.ada.id])
    await scim('PATCH', path, patch({ op: 'add', path: 'members', value: [{ value: erin }, { value: olga }] }))
    const spelled = `Members [ Value EQ "${erin}"  OR\tvalue eq "${olga}" ]`
    expect(await scim('PATCH', path, patch({ op: 'Remove', path: spelled }))).toMatchObject({ status: 204 })
    expect(await membersOf(id)).toEqual([environment.people.ada.id])
  })

  test('names at most 1,000, and adds none', async () => {
    const { id } = await createGroup(unique('Bounded'), erin)
    const others = Array.from({ length: 999 }, () => randomUUID())
    const refused = { status: 400, body: { scimType: 'invalidPath' } }
    const remove = (path: string) => scim('PATCH', `/Groups/${id}`, patch({ op: 'remove', path }))
    expect(await remove(pathOf([...others, randomUUID(), erin]))).toMatchObject(refused)
    expect(await remove(pathOf([erin, ' '.repeat(100_000)]))).toMatchObject(refused)
    const add = patch({ op: 'add', path: pathOf([erin, olga]), value: [] })
    expect(await scim('PATCH', `/Groups/${id}`, add)).toMatchObject(refused)
    expect(await membersOf(id)).toEqual([erin])
    expect(await remove(pathOf([...others, erin]))).toMatchObject({ status: 204 })
    expect(await membersOf(id)).toEqual([])
  })

  test.each([
    'members[value eq "x" and value eq "y"]',
    'members[value eq "x" or display eq "y"]',
    'members[value eq "x" or value ne "y"]',
    'members[value eq "x" or]',
    'members[value eq "x"] or members[value eq "y"]',
    'members[not (value eq "x")]',
  ])('of another form is refused: %s', async (path) => {
    const { id } = await createGroup(unique('Form'), erin)
    expect(await scim('PATCH', `/Groups/${id}`, patch({ op: 'remove', path }))).toMatchObject({
      status: 400,
      body: { scimType: 'invalidPath' },
    })
    expect(await membersOf(id)).toEqual([erin])
  })
})

test('member ids and the names of attributes are not case-sensitive', async () => {
  const { id } = await createGroup(unique('Case'))
  const path = `/Groups/${id}`
  const added = await scim('PATCH', path, patch({ op: 'add', path: 'MEMBERS', value: [{ Value: erin.toUpperCase() }] }))
  expect(added).toMatchObject({ status: 204 })
  expect(await membersOf(id)).toEqual([erin])
  await scim('PATCH', path, patch({ op: 'remove', path: `Members[Value EQ "${erin.toUpperCase()}"]` }))
  expect(await membersOf(id)).toEqual([])
})

const insertPeople = async (count: number): Promise<{ id: string }[]> => {
  const stem = randomUUID()
  const { rows } = await sql<{ id: string }>`
    insert into users (id, user_name, user_name_key, user_name_skeleton, email, auto_joined, created_at)
    select gen_random_uuid(), name, name, name, name || '@example.org', true, 1
    from (select ${stem} || '-' || n as name from generate_series(1, ${count}) n) names
    returning id`.execute(environment.deps.db)
  return rows
}

test('one request changes a thousand members', async () => {
  const rows = await insertPeople(1_000)
  const { id } = await createGroup(unique('Many'))
  const value = rows.map((row) => ({ value: row.id }))
  const path = `/Groups/${id}`
  expect(await scim('PATCH', path, patch({ op: 'add', path: 'members', value }))).toMatchObject({ status: 204 })
  expect(await membersOf(id)).toEqual(rows.map((row) => row.id).sort())
  const single = value.map((each) => ({ op: 'Remove', path: `members[value eq "${each.value}"]` }))
  expect(await scim('PATCH', path, patch(...single))).toMatchObject({ status: 204 })
  expect(await membersOf(id)).toEqual([])
})

test('a page of groups has 10,000 members at most, or one larger group', async () => {
  const name = unique('Large')
  const small = await createGroup(`${name} 1`, erin)
  const large = await createGroup(`${name} 2`)
  const last = await createGroup(`${name} 3`, olga)
  const people = (await insertPeople(10_001)).map(({ id }) => id)
  await sql`insert into group_members (group_id, user_id, added_at)
    select ${large.id}::uuid, id, 1 from unnest(${people}::uuid[]) as id`.execute(environment.deps.db)

  const list = async (query: object): Promise<{ totalResults: number; itemsPerPage: number; groups: string[] }> => {
    const filter = `displayName sw "${name}"`
    const { Resources, ...page } = (await scim('GET', `/Groups?${new URLSearchParams({ filter, ...query })}`)).body
    return { ...page, groups: Resources.map(({ id }: { id: string }) => id) }
  }
  for (const [index, { id }] of [small, large, last].entries())
    expect(await list({ startIndex: index + 1 })).toMatchObject({ totalResults: 3, itemsPerPage: 1, groups: [id] })
  expect((await list({ excludedAttributes: 'members' })).groups).toEqual([small.id, large.id, last.id])
  expect((await membersOf(large.id)).length).toBe(10_001)
})

test('concurrent changes of one version: exactly one is executed', async () => {
  const { id, meta } = await createGroup(unique('Race'))
  const responses = await Promise.all(
    [erin, olga, erin, olga].map((value) =>
      scim('PATCH', `/Groups/${id}`, patch({ op: 'add', path: 'members', value: [{ value }] }), {
        'if-match': meta.version,
      }),
    ),
  )
  expect(responses.map(({ status }) => status).sort()).toEqual([204, 412, 412, 412])
  const { headers } = await scim('GET', `/Groups/${id}`)
  expect(await scim('GET', `/Groups/${id}`, undefined, { 'if-none-match': headers.etag })).toMatchObject({
    status: 304,
  })
  expect(await scim('DELETE', `/Groups/${id}`, undefined, { 'if-match': meta.version })).toMatchObject({ status: 412 })
})

test('the version of a person changes with their groups and the names of these, not with other members', async () => {
  const path = `/Users/${await createUser('nora')}`
  const { id } = await createGroup(unique('Night shift'))
  const group = `/Groups/${id}`
  let { headers } = await scim('GET', path)
  const isUnchanged = async () => (await scim('GET', path, undefined, { 'if-none-match': headers.etag })).status === 304
  const changes = [
    patch({ op: 'add', path: 'members', value: [{ value: path.slice('/Users/'.length) }] }),
    patch({ op: 'replace', path: 'displayName', value: unique('Early shift') }),
    patch({ op: 'remove', path: 'members' }),
  ]
  for (const change of changes) {
    expect(await isUnchanged()).toBe(true)
    expect(await scim('PATCH', group, change)).toMatchObject({ status: 204 })
    expect(await isUnchanged()).toBe(false)
    const read = await scim('GET', path)
    expect(read.headers.etag).toBe(read.body.meta.version)
    const listed = await filtered(`userName eq "${read.body.userName}"`)
    expect(listed.body.Resources).toEqual([read.body])
    headers = read.headers
  }
  await scim('PATCH', group, patch({ op: 'add', path: 'members', value: [{ value: erin }] }))
  expect(await isUnchanged()).toBe(true)
  const title = patch({ op: 'replace', path: 'title', value: 'Pilot' })
  expect(await scim('PATCH', path, title, { 'if-match': headers.etag })).toMatchObject({ status: 200 })
})

describe('scim.adminGroups', () => {
  test('makes members admins, and takes the role only from those whom it made admins', async () => {
    const [owners, admins] = [await createGroup('Owners'), await createGroup('parley admins', erin)]
    expect([await isAdmin(erin), await isAdmin(olga)]).toEqual([true, false])
    const change = (group: { id: string }, op: string, ...ids: string[]) =>
      scim('PATCH', `/Groups/${group.id}`, patch({ op, path: 'members', value: ids.map((value) => ({ value })) }))

    await change(owners, 'add', erin, environment.people.ada.id)
    await change(admins, 'remove', erin)
    expect(await isAdmin(erin)).toBe(true)
    await change(owners, 'replace', olga)
    expect([await isAdmin(erin), await isAdmin(olga), await isAdmin(environment.people.ada.id)]).toEqual([
      false,
      true,
      true,
    ])
    await scim('PATCH', `/Groups/${owners.id}`, patch({ op: 'replace', path: 'displayName', value: unique('Former') }))
    expect(await isAdmin(olga)).toBe(false)
    await change(admins, 'add', olga)
    expect(await isAdmin(olga)).toBe(true)
    await scim('DELETE', `/Groups/${admins.id}`)
    expect(await isAdmin(olga)).toBe(false)
    expect(await auditOf('user.role.update')).toContainEqual(
      expect.objectContaining({ targetId: olga, actorId: expect.stringMatching(/^scim:/) }),
    )
  })

  test('finds a name in capitals whose last letter is a sigma', async () => {
    const group = await createGroup('ΔΙΑΧΕΙΡΙΣΤΈΣ', erin)
    expect(await isAdmin(erin)).toBe(true)
    await scim('DELETE', `/Groups/${group.id}`)
    expect(await isAdmin(erin)).toBe(false)
  })

  test('never takes the last admin', async () => {
    const { ada } = environment.people
    const group = await createGroup('Owners', erin)
    // For this test nobody else is an admin.
    await sql`update users set is_admin = false where id = ${ada.id}`.execute(environment.deps.db)
    try {
      const path = `/Groups/${group.id}`
      const refused = { status: 409, body: { scimType: 'mutability' } }
      expect(await scim('PATCH', path, patch({ op: 'remove', path: 'members' }))).toMatchObject(refused)
      expect(await scim('DELETE', path)).toMatchObject(refused)
      expect(await membersOf(group.id)).toEqual([erin])
    } finally {
      await sql`update users set is_admin = true where id = ${ada.id}`.execute(environment.deps.db)
    }
    expect(await scim('DELETE', `/Groups/${group.id}`)).toMatchObject({ status: 204 })
  })
})

test('a person whom a directory deletes leaves its groups, and comes back without them', async () => {
  const email = `${randomUUID()}@example.org`
  const { id } = (await scim('POST', '/Users', newUser(email))).body
  const group = await createGroup(unique('Leaving'), id)
  await scim('DELETE', `/Users/${id}`)
  expect(await membersOf(group.id)).toEqual([])
  const add = patch({ op: 'add', path: 'members', value: [{ value: id }] })
  expect(await scim('PATCH', `/Groups/${group.id}`, add)).toMatchObject({ status: 400 })
  expect((await scim('POST', '/Users', newUser(email))).body).not.toHaveProperty('groups')
})

test('a directory cannot change groups of the server, nor the server groups of a directory; handles are unique', async () => {
  const { ada } = environment.people
  const { group } = (await ada.post('/groups', { handle: 'crew', name: 'Crew' })).body
  for (const method of ['GET', 'DELETE']) {
    expect(await scim(method, `/Groups/${group.id}`)).toMatchObject({ status: 404 })
  }
  const { id } = await createGroup('Crew')
  const { groups } = (await ada.get('/groups')).body
  expect(groups).toContainEqual(expect.objectContaining({ id, handle: 'crew2', name: 'Crew' }))
  expect(await ada.delete(`/groups/${id}`)).toMatchObject({ status: 409 })
})

test.each([
  'displayName eq "x\' or 1=1 --"',
  'displayName eq "%"',
  'id eq "x"',
  'displayName eq "x" and externalId pr',
])('the filter %s finds nothing', async (filter) => {
  await createGroup(unique('There'))
  expect(await filtered(filter, '/Groups')).toMatchObject({ status: 200, body: { totalResults: 0 } })
})

test.each(['handle eq "x"', 'members.value eq "x"', 'displayName eq "x"; drop table groups', 'constructor eq "x"'])(
  'the filter %s is refused',
  async (filter) => {
    expect(await filtered(filter, '/Groups')).toMatchObject({ status: 400, body: { scimType: 'invalidFilter' } })
  },
)

test.each([
  ['an unknown member', { op: 'add', path: 'members', value: [{ value: randomUUID() }] }, 'invalidValue'],
  ['a member that is no id', { op: 'add', path: 'members', value: [{ value: 'x' }] }, 'invalidValue'],
  ['a member that is a number', { op: 'add', path: 'members', value: [7] }, 'invalidSyntax'],
  ['another filter in a path', { op: 'remove', path: 'members[display eq "x"]' }, 'invalidPath'],
  ['no displayName', { op: 'remove', path: 'displayName' }, 'invalidValue'],
  ['a displayName that is too long', { op: 'replace', path: 'displayName', value: 'x'.repeat(101) }, 'invalidValue'],
  ['another id', { op: 'replace', path: 'id', value: 'x' }, 'mutability'],
  ['no path', { op: 'remove' }, 'noTarget'],
])('a patch with %s is refused', async (_, operation, scimType) => {
  const { id } = await createGroup(unique('Clumsy'))
  expect(await scim('PATCH', `/Groups/${id}`, patch(operation))).toMatchObject({ status: 400, body: { scimType } })
})

test('removing a person who is not a member changes nothing', async () => {
  const { id, meta } = await createGroup(unique('Nothing'))
  const operations = ['x', randomUUID()].map((value) => ({ op: 'remove', path: `members[value eq "${value}"]` }))
  const response = await scim('PATCH', `/Groups/${id}`, patch(...operations))
  expect(response).toMatchObject({ status: 204, headers: { etag: meta.version } })
})

test('a patch may have an operation for each of thousands of members, as Authentik sends it', async () => {
  const { id } = (await scim('POST', '/Users', newUser(`${randomUUID()}@example.org`))).body
  const group = await createGroup(unique('Everybody'))
  const absent = Array.from({ length: 8_000 }, () => ({
    op: 'remove',
    path: 'members',
    value: [{ value: randomUUID() }],
  }))
  const added = { op: 'add', path: 'members', value: [{ value: id }] }
  expect(await scim('PATCH', `/Groups/${group.id}`, patch(...absent, added))).toMatchObject({ status: 204 })
  expect(await membersOf(group.id)).toEqual([id])
})

test('a new group with a member that is no id is refused with this id', async () => {
  const response = await scim('POST', '/Groups', newGroup('Clumsy', { members: [{ value: 'nobody' }] }))
  const body = { scimType: 'invalidValue', detail: 'members has an unknown id: nobody' }
  expect(response).toMatchObject({ status: 400, body })
})
