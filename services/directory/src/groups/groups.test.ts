import { type HttpResponse, Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'

const environment = testEnvironment()
const creates = async (handle: string, members: Person[] = []) =>
  (
    await environment.people.ada.post('/groups', {
      handle,
      name: `The ${handle}`,
      members: members.map(({ id }) => id),
    })
  ).body.group
const changes = (group: { id: string }, change: { add?: string[]; remove?: string[] }) =>
  environment.people.ada.put(`/groups/${group.id}/members`, change)
const membersOf = async (person: Person, channel: { id: string }) =>
  (await person.get(`/channels/${channel.id}`)).body.channel.members
const auditOf = (targetId: string) =>
  environment.deps.db.selectFrom('auditLog').select(['action', 'actorId']).where('targetId', '=', targetId).execute()

describe('groups', () => {
  test('are created, changed and deleted by admins, with events for everybody except guests', async () => {
    const { ada, ann, bob, cat } = environment.people
    const response = await ada.post('/groups', { handle: 'sales', name: ' Sales  team ', members: [ann.id, bob.id] })
    const group = {
      id: expect.any(String),
      handle: 'sales',
      name: 'Sales team',
      memberCount: 2,
      source: 'local',
      createdAt: expect.any(Number),
    }
    expect(response).toMatchObject({ status: 200, body: { group } })
    const { id } = response.body.group
    await environment.events.to(cat).toHave('NEW_GROUP', { id, handle: 'sales', joined: [ann.id, bob.id] })
    expect((await cat.get('/groups')).body).toEqual({ groups: [group] })
    const page = await cat.get(`/groups/${id}/members?limit=1`)
    expect(page.body).toEqual({ members: [{ id: expect.any(String), userName: expect.any(String) }], hasMore: true })
    const rest = await cat.get(`/groups/${id}/members?after=${page.body.members[0].id}`)
    expect(rest.body).toMatchObject({ members: [{}], hasMore: false })

    const change = await changes({ id }, { add: [cat.id, ann.id], remove: [bob.id, ada.id] })
    expect(change).toMatchObject({ status: 200, body: { group: { memberCount: 2 } } })
    await environment.events.to(cat).toHave('UPDATE_GROUP', { id, joined: [cat.id], left: [bob.id] })
    expect(await ada.put(`/groups/${id}`, { handle: 'Sales', name: 'Sales' })).toMatchObject({ status: 200 })
    await environment.events.to(cat).toHave('UPDATE_GROUP', { id, handle: 'Sales', name: 'Sales' })
    expect(await ada.delete(`/groups/${id}`)).toMatchObject({ status: 200 })
    await environment.events.to(cat).toHave('DELETE_GROUP', { id })
    expect((await cat.get('/groups')).body).toEqual({ groups: [] })
    const actions = ['group.create', 'group.members.update', 'group.update', 'group.delete']
    expect(
      (await auditOf(id)).toSorted((one, other) => actions.indexOf(one.action) - actions.indexOf(other.action)),
    ).toEqual(actions.map((action) => ({ action, actorId: ada.id })))
  })

  test('lose a person who is removed or leaves the server, with events for everybody except guests', async () => {
    const { ada, ann, cat } = environment.people
    const [dan, eva] = [
      await Person.signIn(environment.baseUrl, 'dan@example.com'),
      await Person.signIn(environment.baseUrl, 'eva@example.com'),
    ]
    const group = await creates('leavers', [ann, dan, eva])
    expect((await dan.get('/auth/me')).body.groups).toEqual([group.id])
    await ada.delete(`/users/${dan.id}`)
    await environment.events.to(cat).toHave('UPDATE_GROUP', { id: group.id, memberCount: 2, left: [dan.id] })
    await eva.post('/users/exit')
    await environment.events.to(cat).toHave('UPDATE_GROUP', { id: group.id, memberCount: 1, left: [eva.id] })
    const { groups } = (await cat.get('/groups')).body
    expect(groups.find(({ id }: { id: string }) => id === group.id)).toMatchObject({ memberCount: 1 })
  })

  test('share their names with people', async () => {
    const { ada, ann } = environment.people
    const group = await creates('crew')
    const post = (handle: string) => ada.post('/groups', { handle, name: 'x' })
    for (const handle of ['Ann', 'CREW', 'аnn', 'here', '@x', ' ']) {
      expect(await post(handle)).toMatchObject({ status: 400 })
    }
    expect(await ann.put('/users/me', { userName: 'Crew' })).toMatchObject({ status: 400, body: { code: 'duplicate' } })
    expect((await Person.signIn(environment.baseUrl, 'crew@example.com')).userName).toBe('crew2')
    const atOnce = await Promise.all([post('one'), post('ONE'), ann.put('/users/me', { userName: 'One' })])
    expect(atOnce.map(({ status }) => status).toSorted()).toEqual([200, 400, 400])
    await ann.put('/users/me', { userName: 'ann' })
    await ada.delete(`/groups/${group.id}`)
    expect((await post('crew')).status).toBe(200)
  })

  test('refuses other callers, unknown people, and changes of groups that a directory manages', async () => {
    const { ada, cat } = environment.people
    const group = await creates('kept')
    expect(await cat.post('/groups', { handle: 'mine', name: 'Mine' })).toMatchObject({ status: 403 })
    expect(await changes(group, { add: ['unknown'] })).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/^add /) },
    })
    expect(await changes({ id: 'unknown' }, {})).toMatchObject({ status: 404 })
    await environment.deps.db.updateTable('groups').set({ source: 'scim' }).where('id', '=', group.id).execute()
    for (const response of [
      await changes(group, { add: [cat.id] }),
      await ada.put(`/groups/${group.id}`, { name: 'New' }),
      await ada.delete(`/groups/${group.id}`),
    ]) {
      expect(response).toMatchObject({ status: 409, body: { code: 'managed_by_directory' } })
    }
    await ada.post('/users/add', { email: 'gil@example.com', role: 'guest' })
    const gil = await Person.signIn(environment.baseUrl, 'gil@example.com')
    expect(await gil.get('/groups')).toMatchObject({ status: 403 })
    expect(await gil.get(`/groups/${group.id}/members`)).toMatchObject({ status: 403 })
  })
})

describe('the groups of a channel', () => {
  test('make their people members for as long as they are in the group', async () => {
    const { ada, ann, bob, cat } = environment.people
    const channel = await ann.creates({ name: 'of the staff', isPrivate: true })
    await ann.says('before', channel)
    const group = await creates('staff', [bob, cat])
    const set = await ada.put(`/channels/${channel.id}`, { groups: [group.id] })
    expect(set).toMatchObject({ status: 200, body: { channel: { groups: [group.id] } } })
    expect((await bob.get(`/channels/${channel.id}`)).body.channel.groups).toEqual([group.id])
    await environment.events.to(bob).toHave('NEW_CHANNEL', { id: channel.id, lastSeq: 1 })
    expect((await membersOf(bob, channel)).toSorted()).toEqual([ann.id, bob.id, cat.id].toSorted())
    expect((await bob.get(`/channels/${channel.id}`)).body.channel).toMatchObject({ unreadCount: 0, memberCount: 3 })

    expect(await bob.post(`/channels/${channel.id}/leave`)).toMatchObject({ status: 400 })
    expect(await cat.post(`/channels/${channel.id}/join`)).toMatchObject({ status: 200 })
    await ann.put(`/channels/${channel.id}`, { topic: 'still there', members: [ann.id, bob.id, cat.id] })
    await changes(group, { remove: [bob.id, cat.id] })
    await environment.events.to(bob).toHave('DELETE_CHANNEL', { id: channel.id })
    expect(await bob.get(`/channels/${channel.id}`)).toMatchObject({ status: 403 })
    // Cat has also joined by herself.
    expect((await membersOf(cat, channel)).toSorted()).toEqual([ann.id, cat.id].toSorted())

    await changes(group, { add: [bob.id] })
    expect(await membersOf(ann, channel)).toContain(bob.id)
    await ada.delete(`/groups/${group.id}`)
    expect(await membersOf(ann, channel)).not.toContain(bob.id)
    expect(await ada.put(`/channels/${channel.id}`, { groups: ['unknown'] })).toMatchObject({ status: 400 })
  })

  test.each([
    ['alone', () => ({})],
    ['with a list of members', ({ ada }: { ada: Person }) => ({ members: [ada.id] })],
    ['in the request that adds the group', (_: unknown, group: { id: string }) => ({ groups: [group.id] })],
  ])('keep a person as a member whom `addMembers` adds by hand, %s', async (how, more) => {
    const { ada, ann, bob } = environment.people
    const group = await creates(`added-${how.length}`, [ann, bob])
    const channel = await ada.creates({ name: `added ${how.length}` })
    const change = (fields: object) => ada.put(`/channels/${channel.id}`, fields)
    const fields = { addMembers: [ann.id], ...more(environment.people, group) }
    if (!('groups' in fields)) await change({ groups: [group.id] })
    expect(await change(fields)).toMatchObject({ status: 200 })
    expect((await membersOf(ada, channel)).toSorted()).toEqual([ada.id, ann.id, bob.id].toSorted())
    await changes(group, { remove: [ann.id, bob.id] })
    expect(await membersOf(ada, channel)).toEqual([ada.id, ann.id])
  })

  test('keep a member by hand whom `addMembers` names beside a new list of members', async () => {
    const { ada, ann } = environment.people
    const group = await creates('named-again', [ann])
    const channel = await ada.creates({ name: 'named again', members: [ann.id] })
    await ada.put(`/channels/${channel.id}`, { groups: [group.id] })
    await ada.put(`/channels/${channel.id}`, { members: [ada.id], addMembers: [ann.id] })
    await changes(group, { remove: [ann.id] })
    expect(await membersOf(ada, channel)).toEqual([ada.id, ann.id])
  })

  test('send their people an event that they joined a public channel, with all messages read', async () => {
    const { ada, ann, cat } = environment.people
    const channel = await ann.creates({ name: 'public of a group' })
    await ann.says('unread', channel)
    const group = await creates('crowd')
    await ada.put(`/channels/${channel.id}`, { groups: [group.id] })
    const stream = await cat.opensStream(undefined, { scope: 'joined' })
    await changes(group, { add: [cat.id] })
    await stream.waitFor('NEW_CHANNEL', { id: channel.id, lastSeq: 1 })
    expect((await cat.get(`/channels/${channel.id}`)).body.channel).toMatchObject({ isMember: true, unreadCount: 0 })
    await changes(group, { remove: [cat.id] })
    await stream.waitFor('DELETE_CHANNEL', { id: channel.id })
    await stream.close()
  })
})

describe('@handle', () => {
  test('mentions everybody in the group', async () => {
    const { ann, bob, cat } = environment.people
    const channel = await ann.creates({ name: 'with mentions', members: [bob.id, cat.id] })
    const group = await creates('night crew', [bob])
    const said = await ann.says('hello @Night Crew and @cat', channel)
    expect(said.mentions).toEqual([`group:${group.id}`, cat.id])
    const countOf = async (person: Person) => (await person.get(`/channels/${channel.id}`)).body.channel.mentionCount
    expect([await countOf(bob), await countOf(cat), await countOf(environment.people.ada)]).toEqual([1, 1, 0])
    await ann.says('only @night crew', channel)
    expect([await countOf(bob), await countOf(cat)]).toEqual([2, 1])
  })
})

describe('an admin who changes a group does not block a change of one of its members:', () => {
  test.each<[string, (admin: Person, group: { id: string }, member: Person) => Promise<HttpResponse>]>([
    ['POST', (admin, _, { id }) => admin.post('/groups', { handle: 'newer', name: 'Newer', members: [id] })],
    ['PUT members', (admin, group, { id }) => admin.put(`/groups/${group.id}/members`, { remove: [id] })],
    ['DELETE', (admin, group) => admin.delete(`/groups/${group.id}`)],
  ])('%s', async (name, change) => {
    // Ids are in the order of creation, and rows of people are locked in the order of their ids.
    const round = name.length
    const member = await Person.signIn(environment.baseUrl, `member-${round}@example.com`)
    const admin = await Person.signIn(environment.baseUrl, `later-admin-${round}@example.com`)
    await environment.people.ada.put(`/users/${admin.id}/role`, { role: 'admin' })
    const group = await creates(`circle-${round}`, [member])

    const { response } = await environment.deps.db.transaction().execute(async (trx) => {
      const lock = ({ id }: Person) =>
        trx.selectFrom('users').select('id').where('id', '=', id).forNoKeyUpdate().execute()
      await lock(member)
      const response = change(admin, group, member)
      await somebodyWaitsFor(trx)
      await lock(admin)
      return { response }
    })
    expect(await response).toMatchObject({ status: 200 })
  })
})

test('a group that is deleted and a channel that stops using it at the same moment do not block each other', async () => {
  const { ada, ann, bob } = environment.people
  const group = await creates('short-lived', [bob])
  const channel = await ann.creates({ name: 'of a short-lived group', isPrivate: true })
  await ada.put(`/channels/${channel.id}`, { groups: [group.id] })

  // A change of the channel's groups locks the channel first, and then deletes the group's row.
  const { response } = await environment.deps.db.transaction().execute(async (trx) => {
    await trx.selectFrom('channels').select('id').where('id', '=', channel.id).forNoKeyUpdate().execute()
    const response = ada.delete(`/groups/${group.id}`)
    await somebodyWaitsFor(trx)
    await trx.deleteFrom('channelGroups').where('channelId', '=', channel.id).execute()
    return { response }
  })
  expect(await response).toMatchObject({ status: 200 })
})
