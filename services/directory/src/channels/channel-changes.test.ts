import { setRole } from '@parley/accounts'
import type { Channel } from '@parley/contract'
import { Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'

const environment = testEnvironment()
const nothingSet = { isMuted: false, isFavourite: false, notifiesOfAll: false }
const nothingUnread = { lastSeq: 0, readSeq: 0, unreadCount: 0, mentionCount: 0 }

let round = 0
let ada: Person
let ann: Person
let bob: Person
let cat: Person
let open: Channel
let closed: Channel
beforeEach(async () => {
  ;({ ada, ann, bob, cat } = environment.people)
  open = await ann.creates({ name: `open ${++round}`, topic: 'anything' })
  closed = await ann.creates({ name: `closed ${round}`, isPrivate: true, members: [bob.id] })
})

const change = async (channel: Channel, fields: object, person = ann) => {
  const { status, body } = await person.put(`/channels/${channel.id}`, fields)
  return { status, channel: body.channel, refusal: body.error }
}
const seesIt = async (person: Person, { id }: Channel) =>
  (await person.get('/channels')).body.channels.some((channel: Channel) => channel.id === id)

/** The routings of the recorded events of a type about a channel. */
const routed = async (type: string, { id }: Channel): Promise<object[]> => {
  const rows = await environment.deps.db.selectFrom('outbox').select(['routing', 'event']).orderBy('id').execute()
  const isMeant = (event: string | null) => {
    const { type: is, payload } = JSON.parse(event ?? '{}')
    return is === type && [payload.id, payload.channelId].includes(id)
  }
  return rows.filter(({ event }) => isMeant(event)).map(({ routing }) => JSON.parse(routing))
}

/** These people get the event with the channel's new state, and the others do not. */
const told = async (type: 'NEW_CHANNEL' | 'UPDATE_CHANNEL' | 'DELETE_CHANNEL', { id, name }: Channel, to: Person[]) => {
  for (const person of to) await environment.events.to(person).toHave(type, { id, name })
  for (const person of [ada, ann, bob, cat].filter((other) => !to.includes(other))) {
    await environment.events.to(person).neverHave(type, { id, name })
  }
}

describe('an admin who loses this role while the request waits', () => {
  test.each([
    ['cannot change a channel', (eve: Person) => eve.put(`/channels/${open.id}`, { topic: 'theirs' })],
    ['cannot delete a channel', (eve: Person) => eve.delete(`/channels/${open.id}`)],
  ])('%s', async (_, ask) => {
    const eve = await Person.signIn(environment.baseUrl, `demoted-${round}@example.com`)
    await ada.put(`/users/${eve.id}/role`, { role: 'admin' })
    const { asked } = await environment.deps.db.transaction().execute(async (trx) => {
      await trx.updateTable('users').set({ isAdmin: false }).where('id', '=', eve.id).execute()
      await trx.selectFrom('channels').select('id').where('id', '=', open.id).forUpdate().execute()
      const asked = ask(eve)
      await somebodyWaitsFor(trx)
      return { asked }
    })
    expect(await asked).toMatchObject({ status: 403 })
    expect((await ann.get(`/channels/${open.id}`)).body.channel.topic).toBe('anything')
  })
})

describe('PUT /channels/:channelId', () => {
  test('changes the given fields, keeps the others and sends an event to its audience', async () => {
    const { status, channel } = await change(closed, { name: 'New name' })
    expect(status).toBe(200)
    expect(channel).toEqual({ ...closed, name: 'New name', groups: [], updatedAt: expect.any(Number) })
    await told('UPDATE_CHANNEL', channel, [ada, ann, bob])
    expect(await change(closed, { topic: 'Plans' })).toMatchObject({ channel: { name: 'New name', topic: 'Plans' } })
    expect(await change(closed, { topic: '' })).toMatchObject({ channel: { name: 'New name', topic: null } })
    const entries = environment.deps.db.selectFrom('auditLog').selectAll().where('targetId', '=', closed.id)
    expect(await entries.orderBy('createdAt').orderBy('id').execute()).toMatchObject([
      { action: 'channel.create' },
      {
        action: 'channel.update',
        actorId: ann.id,
        metadata: { from: { name: closed.name }, to: { name: 'New name' } },
      },
      { action: 'channel.update' },
      { action: 'channel.update' },
    ])
  })

  test('adds people to the members, also when several requests come at the same time', async () => {
    const adds = (...people: Person[]) => change(closed, { addMembers: people.map(({ id }) => id) })
    const responses = await Promise.all([adds(cat), adds(ada, bob), adds()])
    expect(responses).toMatchObject(Array(3).fill({ status: 200 }))
    const everybody = [ada, ann, bob, cat].map(({ id }) => id).toSorted()
    expect((await ann.get(`/channels/${closed.id}`)).body.channel.members.toSorted()).toEqual(everybody)
    await environment.events.to(cat).toHave('NEW_CHANNEL', { id: closed.id })
    const unknown = { addMembers: [cat.id, closed.id] }
    expect(await change(open, unknown)).toMatchObject({
      status: 400,
      refusal: expect.stringMatching(/^addMembers /),
    })
    expect(await change(open, { addMembers: [cat.id] }, cat)).toMatchObject({ status: 403 })
    expect((await ann.get(`/channels/${open.id}`)).body.channel.members).toEqual([ann.id])
  })

  test('removes people from the members, also when several requests come at the same time', async () => {
    await change(closed, { members: [ada.id, bob.id, cat.id] })
    const removes = (...people: Person[]) => change(closed, { removeMembers: people.map(({ id }) => id) })
    const responses = await Promise.all([removes(cat), removes(ada, ann), change(closed, { addMembers: [bob.id] })])
    expect(responses).toMatchObject(Array(3).fill({ status: 200 }))
    // The creator stays a member.
    expect((await ann.get(`/channels/${closed.id}`)).body.channel.members.toSorted()).toEqual(
      [ann.id, bob.id].toSorted(),
    )
    await environment.events.to(cat).toHave('DELETE_CHANNEL', { id: closed.id })
    expect(await removes(cat)).toMatchObject({ status: 200, channel: { members: [ann.id, bob.id] } })
    expect(await change(closed, { removeMembers: [bob.id] }, cat)).toMatchObject({ status: 403 })
  })

  test('with unchanged values, or only null, changes nothing, sends no event and returns an integer updatedAt', async () => {
    const { ann, cat } = environment.people
    const channel = await ann.creates({ name: 'as it was', topic: 'weather' })
    const { name, topic, isPrivate, members } = channel
    const nulls = { name: null, topic: null, isPrivate: null, members: null }
    for (const body of [{}, { name }, { name, topic, isPrivate, members }, nulls]) {
      const { status, body: response } = await ann.put(`/channels/${channel.id}`, body)
      expect({ status, channel: response.channel }).toEqual({
        status: 200,
        channel: { ...channel, groups: [], updatedAt: channel.createdAt },
      })
    }
    const rows = environment.deps.db
      .selectFrom('auditLog')
      .select('action')
      .where('targetId', '=', channel.id)
      .orderBy('id')
    expect(await rows.execute()).toEqual([{ action: 'channel.create' }])
    await environment.events.to(cat).neverHave('UPDATE_CHANNEL', { id: channel.id })
  })

  test('replaces the members of a private channel: each person gets the event for them', async () => {
    const { channel } = await change(closed, { name: `renamed ${round}`, members: [cat.id] })

    expect(channel.members).toEqual([ann.id, cat.id])
    expect([await seesIt(bob, closed), await seesIt(cat, closed)]).toEqual([false, true])
    await told('DELETE_CHANNEL', closed, [bob])
    await told('NEW_CHANNEL', channel, [cat])
    const { body } = await cat.get('/channels')
    const { lastSeq, readSeq } = body.channels.find(({ id }: Channel) => id === channel.id)
    expect(readSeq).toBe(lastSeq)
    await environment.events.to(cat).toHave('NEW_CHANNEL', { id: channel.id, lastSeq })
    await told('UPDATE_CHANNEL', channel, [ada, ann, cat])
    const message = await ann.says('for those who are left', channel)
    await environment.events.to(cat).toHave('NEW_MESSAGE', { id: message.id })
    await environment.events.to(bob).neverHave('NEW_MESSAGE', { id: message.id })
  })

  test('an admin who becomes or ceases to be a member neither gains nor loses it', async () => {
    await change(closed, { name: `with ada ${round}`, members: [bob.id, ada.id] })
    const { channel } = await change(closed, { name: `without ada ${round}`, members: [bob.id] })
    await told('UPDATE_CHANNEL', channel, [ada, ann, bob])
    await environment.events.to(ada).neverHave('DELETE_CHANNEL', { id: closed.id })
    await environment.events.to(ada).neverHave('NEW_CHANNEL', { id: closed.id, name: `with ada ${round}` })
  })

  test.each([
    ['demoted', 'admin', 'member'],
    ['promoted', 'member', 'admin'],
  ] as const)('a person who is %s while they are removed gets an event with the final state', async (_, from, to) => {
    const { db, clock } = environment.deps
    const eve = await Person.signIn(environment.baseUrl, `eve-${round}@example.com`)
    await ada.put(`/users/${eve.id}/role`, { role: from })
    await change(closed, { members: [bob.id, eve.id] })
    const stream = await eve.opensStream()
    const session = await db.selectFrom('sessions').select('id').where('userId', '=', ada.id).executeTakeFirstOrThrow()
    const caller = {
      userId: ada.id,
      sessionId: session.id,
      userName: ada.userName,
      email: '',
      role: 'admin' as const,
      isAdmin: true,
    }

    const { taken } = await db.transaction().execute(async (trx) => {
      await setRole(trx, eve.id, { role: to }, { caller, ip: null, now: clock() })
      const taken = change(closed, { members: [bob.id] })
      // Without a wait for the change of the role the response would be there by now.
      await Promise.race([somebodyWaitsFor(trx), taken])
      return { taken }
    })
    expect(await taken).toMatchObject({ status: 200 })

    await stream.waitFor('UPDATE_USER', { id: eve.id })
    const marker = await ann.says('marker', environment.channel.general)
    await stream.waitFor('NEW_MESSAGE', { id: marker.id })
    expect(stream.all('DELETE_CHANNEL')).toHaveLength(to === 'member' ? 1 : 0)
    expect(await seesIt(eve, closed)).toBe(to === 'admin')
    await stream.close()
    await ada.put(`/users/${eve.id}/role`, { role: 'member' })
  })

  test('a person who joins a private channel while its members are replaced gets the right event', async () => {
    const joins = Array.from({ length: 6 }, (_, n) => change(closed, { members: n % 2 ? [cat.id] : [bob.id] }))
    expect((await Promise.all(joins)).map(({ status }) => status)).toEqual(Array(6).fill(200))
    const [bobSees, catSees] = [await seesIt(bob, closed), await seesIt(cat, closed)]
    expect([bobSees, catSees].filter(Boolean)).toHaveLength(1)
  })

  test('is one transaction, also when somebody becomes a member meanwhile', async () => {
    const { db } = environment.deps
    const { group } = (await ada.post('/groups', { handle: `crew-${round}`, name: 'Crew', members: [cat.id] })).body
    const { taken } = await db.transaction().execute(async (trx) => {
      await trx.selectFrom('channels').select('id').where('id', '=', closed.id).forUpdate().execute()
      const taken = change(closed, { members: [], groups: [group.id] })
      await somebodyWaitsFor(trx)
      await trx.insertInto('channelMembers').values({ channelId: closed.id, userId: ada.id, joinedAt: 0 }).execute()
      return { taken }
    })
    expect(await taken).toMatchObject({ status: 200, channel: { members: [ann.id, cat.id], groups: [group.id] } })

    const { rows } = await sql`
      select xmin, count(*)::int as entries from audit_log where target_id = ${closed.id} and action = 'channel.update'
      group by 1`.execute(db)
    expect(rows).toEqual([{ xmin: expect.anything(), entries: 2 }])
  })

  test('a member of a private channel who has left the server can be removed', async () => {
    const { db } = environment.deps
    const eve = await Person.signIn(environment.baseUrl, `gone-${round}@example.com`)
    await ada.delete(`/users/${eve.id}`)
    await db.insertInto('channelMembers').values({ channelId: closed.id, userId: eve.id, joinedAt: 0 }).execute()

    const { status, channel } = await change(closed, { members: [bob.id] })
    expect([status, channel.members]).toEqual([200, [ann.id, bob.id]])
  })

  test('public to private removes it from people who are not members', async () => {
    const { channel } = await change(open, { name: `hidden ${round}`, isPrivate: true, members: [bob.id] })
    expect([await seesIt(bob, open), await seesIt(cat, open), await seesIt(ada, open)]).toEqual([true, false, true])
    await told('DELETE_CHANNEL', open, [cat])
    await told('UPDATE_CHANNEL', channel, [ada, ann, bob])
  })

  test('private to public gives it to everybody', async () => {
    const { channel } = await change(closed, { name: `opened ${round}`, isPrivate: false, members: [] })
    expect(await seesIt(cat, closed)).toBe(true)
    await told('NEW_CHANNEL', channel, [cat])
    await told('UPDATE_CHANNEL', channel, [ada, ann, bob, cat])
  })

  test('sends joins and leaves to the streams of joined channels, and the changes to the nodes', async () => {
    await ann.says('before', open)
    const { channel } = await change(open, { members: [bob.id, ada.id] })
    expect(await routed('NEW_CHANNEL', open)).toContainEqual({ to: 'joined', users: [bob.id, ada.id] })
    expect(await routed('READ_UPDATE', open)).toEqual([
      { to: 'joined', users: [expect.any(String)] },
      { to: 'joined', users: [expect.any(String)] },
    ])
    expect(await routed('UPDATE_CHANNEL', open)).toMatchObject([{ membership: { joined: [bob.id, ada.id], left: [] } }])
    await environment.events.to(cat).toHave('UPDATE_CHANNEL', { id: channel.id, joined: [bob.id, ada.id], left: [] })

    await change(closed, { members: [ada.id] })
    expect(await routed('DELETE_CHANNEL', closed)).toEqual([{ to: 'users', users: [bob.id] }])
    expect(await routed('NEW_CHANNEL', closed)).toContainEqual({ to: 'joined', users: [ada.id] })
    await change(closed, { members: [], isPrivate: false })
    expect(await routed('DELETE_CHANNEL', closed)).toContainEqual({ to: 'joined', users: [ada.id] })
    expect((await routed('UPDATE_CHANNEL', closed)).at(-1)).not.toHaveProperty('membership')
  })

  test('the creator always stays', async () => {
    expect(await change(closed, { members: [] }, ada)).toMatchObject({ status: 200, channel: { members: [ann.id] } })
    expect(await seesIt(ann, closed)).toBe(true)
  })

  test('is for the creator and admins', async () => {
    expect(await change(closed, { topic: 'mine' }, bob)).toMatchObject({ status: 403 })
    expect(await change(closed, { topic: 'mine' }, cat)).toMatchObject({ status: 403 })
    expect(await change(open, { topic: 'mine' }, cat)).toMatchObject({ status: 403 })
    expect(await change(open, { topic: 'mine' }, environment.people.nobody)).toMatchObject({ status: 401 })
    expect(await change(closed, { topic: 'ours' }, ada)).toMatchObject({ status: 200 })
  })

  test.each([
    ['a taken name, in another case', () => ({ name: open.name.toUpperCase() })],
    ['a member who is nobody', () => ({ members: [bob.id, '0190a000-0000-7000-8000-000000000001'] })],
    ['a member of another form', () => ({ members: ['bob'] })],
    ['a blank name', () => ({ name: ' ' })],
    ['a long topic', () => ({ topic: 'a'.repeat(251) })],
    ['a word for a flag', () => ({ isPrivate: 'yes' })],
  ])('%s is 400 and changes nothing', async (_, fields) => {
    expect(await change(closed, fields())).toMatchObject({ status: 400, refusal: expect.any(String) })
    expect((await ann.get('/channels')).body.channels).toContainEqual({
      ...closed,
      ...nothingSet,
      ...nothingUnread,
      isMember: true,
    })
    await told('UPDATE_CHANNEL', closed, [])
  })

  test.each(['members', 'addMembers', 'removeMembers'])('refuses more than 10,000 %s', async (field) => {
    const known = [bob.id, cat.id]
    const ids = (count: number) => Array.from({ length: count }, (_, n) => known[n % 2])
    expect(await change(open, { [field]: ids(10_001) })).toMatchObject({ status: 400 })
    expect(await change(open, { [field]: ids(10_000) })).toMatchObject({ status: 200 })
  })

  test.each(['0190a000-0000-7000-8000-000000000001', 'nonsense', 'a'.repeat(500)])('%s is 404', async (id) => {
    expect(await ada.put(`/channels/${id}`, { name: 'any' })).toMatchObject({ status: 404 })
  })
})
