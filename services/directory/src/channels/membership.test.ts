import type { Channel } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeEach, describe, expect, test } from 'vitest'

const environment = testEnvironment({
  chat: {
    initialUser: { userName: 'ada', email: 'ada@example.com' },
    autoJoin: ['News', 'nowhere', 'closed news'],
  },
})
let round = 0
let ada: Person
let ann: Person
let bob: Person
let cat: Person
let open: Channel
let closed: Channel
beforeEach(async () => {
  ;({ ada, ann, bob, cat } = environment.people)
  open = await ann.creates({ name: `open ${++round}` })
  closed = await ann.creates({ name: `closed ${round}`, isPrivate: true, members: [bob.id] })
})

const join = (person: Person, { id }: { id: string }) => person.post(`/channels/${id}/join`)
const leave = (person: Person, { id }: { id: string }) => person.post(`/channels/${id}/leave`)
const channelAs = async (person: Person, { id }: { id: string }) => (await person.get(`/channels/${id}`)).body.channel
const membersOf = async (channel: { id: string }) => (await channelAs(ada, channel)).members
const auditOf = async ({ id }: Channel) => {
  const entries = environment.deps.db.selectFrom('auditLog').select(['action', 'actorId']).where('targetId', '=', id)
  return entries.where('action', '<>', 'channel.create').execute()
}
/** The number of recorded events about a channel. */
const recorded = async (type: string, { id }: Channel) => {
  const rows = await environment.deps.db.selectFrom('outbox').select('event').execute()
  const events = rows.map(({ event }) => JSON.parse(event ?? '{}'))
  return events.filter((event) => event.type === type && event.payload.id === id).length
}

test('changes that wait for a channel do not block other requests', async () => {
  const { db } = environment.deps
  const holder = await db.startTransaction().execute()
  const row = holder.selectFrom('channels').select('id').where('id', '=', open.id)
  await row.forNoKeyUpdate().execute()
  const waiting = [join(bob, open), join(cat, open), leave(bob, open)]
  for (let n = 0; n < 30; n++) waiting.push(ann.put(`/channels/${open.id}`, { topic: `topic ${n}` }))
  expect(await bob.get('/channels')).toMatchObject({ status: 200 })
  expect(await join(bob, await ann.creates({ name: `free ${round}` }))).toMatchObject({ status: 200 })
  await holder.commit().execute()
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(Array(33).fill(200))
})

describe('POST /channels/:channelId/join', () => {
  test('makes the caller a member of a public channel and sends an event to its audience', async () => {
    const { members, ...summary } = open
    const { status, body } = await join(bob, open)
    expect({ status, channel: body.channel }).toEqual({
      status: 200,
      channel: {
        ...summary,
        memberCount: 2,
        isMember: true,
        isMuted: false,
        isFavourite: false,
        notifiesOfAll: false,
        lastSeq: 0,
        readSeq: 0,
        unreadCount: 0,
        mentionCount: 0,
      },
    })
    const change = { id: open.id, members: [...members, bob.id], memberCount: 2, joined: [bob.id], left: [] }
    for (const person of [ada, ann, bob, cat]) await environment.events.to(person).toHave('UPDATE_CHANNEL', change)
    await environment.events.to(bob).neverHave('NEW_CHANNEL', { id: open.id, memberCount: 2 })
    expect(await auditOf(open)).toEqual([])
  })

  test('is idempotent, also with concurrent requests', async () => {
    const people = [bob, cat, ada]
    const responses = await Promise.all([...people, ...people, ...people].map((person) => join(person, open)))
    expect(responses.map(({ status }) => status)).toEqual(Array(9).fill(200))
    expect(await recorded('UPDATE_CHANNEL', open)).toBe(3)
    expect(await channelAs(ann, open)).toMatchObject({ memberCount: 4, isMember: true })
    expect((await membersOf(open)).toSorted()).toEqual([ann, ...people].map(({ id }) => id).toSorted())
  })

  test('earlier messages count as read, and the other streams of the person get READ_UPDATE', async () => {
    for (const content of ['1', `2 @${bob.userName}`]) await ann.says(content, open)
    expect(await channelAs(bob, open)).toMatchObject({ unreadCount: 2, mentionCount: 1 })
    expect((await join(bob, open)).body.channel).toMatchObject({
      lastSeq: 2,
      readSeq: 2,
      unreadCount: 0,
      mentionCount: 0,
    })
    await environment.events.to(bob).toHave('READ_UPDATE', { channelId: open.id, readSeq: 2, unreadCount: 0 })
    await environment.events.to(cat).neverHave('READ_UPDATE', { channelId: open.id })
  })

  test('is refused for a private channel: 403 to admins who may read it, 404 to others; its members are in it already', async () => {
    expect(await join(ada, closed)).toMatchObject({ status: 403, body: { error: expect.any(String) } })
    expect(await join(cat, closed)).toMatchObject({ status: 404 })
    expect(await join(bob, closed)).toMatchObject({ status: 200, body: { channel: { isMember: true } } })
    expect(await recorded('UPDATE_CHANNEL', closed)).toBe(0)
  })

  test('is refused to somebody who becomes a guest while the request waits', async () => {
    const eve = await Person.signIn(environment.baseUrl, `guest-${round}@example.com`)
    const { joining } = await environment.deps.db.transaction().execute(async (trx) => {
      await trx.updateTable('users').set({ isGuest: true }).where('id', '=', eve.id).execute()
      const joining = join(eve, open)
      await somebodyWaitsFor(trx)
      return { joining }
    })
    expect(await joining).toMatchObject({ status: 404 })
    expect(await membersOf(open)).toEqual([ann.id])
  })
})

describe('POST /channels/:channelId/leave', () => {
  test('ends the membership of a public channel and sends an event to its audience; the channel can still be read', async () => {
    await join(bob, open)
    expect(await leave(bob, open)).toMatchObject({
      status: 200,
      body: { channel: { id: open.id, memberCount: 1, isMember: false } },
    })
    const change = { id: open.id, members: [ann.id], memberCount: 1, joined: [], left: [bob.id] }
    for (const person of [ann, bob, cat]) await environment.events.to(person).toHave('UPDATE_CHANNEL', change)
    await environment.events.to(bob).neverHave('DELETE_CHANNEL', { id: open.id })
    expect(await leave(bob, open)).toMatchObject({ status: 200, body: { channel: { isMember: false } } })
    expect(await recorded('UPDATE_CHANNEL', open)).toBe(2)
    expect((await bob.get(`/channels/${open.id}/messages`)).status).toBe(200)
    expect(await auditOf(open)).toEqual([])
  })

  test('ends the access of a person who leaves a private channel, and is audited', async () => {
    const { status, body } = await leave(bob, closed)
    expect({ status, channel: body.channel }).toMatchObject({
      status: 200,
      channel: { isMember: false, memberCount: 1 },
    })
    await environment.events.to(bob).toHave('DELETE_CHANNEL', { id: closed.id, name: closed.name })
    await environment.events.to(ann).toHave('UPDATE_CHANNEL', { id: closed.id, left: [bob.id] })
    await environment.events.to(bob).neverHave('UPDATE_CHANNEL', { id: closed.id })
    expect((await bob.get(`/channels/${closed.id}/messages`)).status).toBe(403)
    expect((await leave(bob, closed)).status).toBe(404)
    expect(await auditOf(closed)).toEqual([{ action: 'channel.leave', actorId: bob.id }])
  })

  test('an admin who leaves a private channel can still read it', async () => {
    await ann.put(`/channels/${closed.id}`, { members: [bob.id, ada.id] })
    expect(await leave(ada, closed)).toMatchObject({ status: 200, body: { channel: { isMember: false } } })
    await environment.events.to(ada).toHave('UPDATE_CHANNEL', { id: closed.id, left: [ada.id] })
    await environment.events.to(ada).neverHave('DELETE_CHANNEL', { id: closed.id })
    expect(await leave(ada, closed)).toMatchObject({ status: 200 })
    expect((await auditOf(closed)).map(({ action }) => action)).toEqual(['channel.update', 'channel.leave'])
  })

  test('a creator who leaves keeps their rights, and stays out until they join', async () => {
    expect(await leave(ann, open)).toMatchObject({
      status: 200,
      body: { channel: { memberCount: 0, isMember: false } },
    })
    expect(await ann.put(`/channels/${open.id}`, { topic: 'still mine', members: [bob.id] })).toMatchObject({
      status: 200,
      body: { channel: { topic: 'still mine', members: [bob.id] } },
    })
    expect(await ann.delete(`/channels/${open.id}`)).toMatchObject({ status: 200 })
  })

  test('a creator who leaves a private channel keeps their rights too, but cannot read it', async () => {
    expect(await leave(ann, closed)).toMatchObject({ status: 200 })
    expect(await ann.get(`/channels/${closed.id}`)).toMatchObject({ status: 403 })
    expect(await ann.put(`/channels/${closed.id}`, { topic: 'still mine' })).toMatchObject({ status: 200 })
    expect(await cat.put(`/channels/${closed.id}`, { topic: 'not mine' })).toMatchObject({ status: 403 })
    expect(await ann.put(`/channels/${closed.id}`, { members: [bob.id, ann.id] })).toMatchObject({ status: 200 })
    expect(await ann.get(`/channels/${closed.id}`)).toMatchObject({ status: 200 })
    expect(await ann.delete(`/channels/${closed.id}`)).toMatchObject({ status: 200 })
  })
})

describe.each(['join', 'leave'])('POST /channels/:channelId/%s', (action) => {
  test('is 404 for an unknown channel, 401 without a token', async () => {
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    for (const id of [uuidv7(), 'nonsense', conversation.id, conversation.id.slice(3)]) {
      expect((await ann.post(`/channels/${id}/${action}`)).status).toBe(404)
    }
    expect((await environment.people.nobody.post(`/channels/${open.id}/${action}`)).status).toBe(401)
  })
})

describe('members', () => {
  test('of a channel with more than 200 members are not in its events, whose size stays the same', async () => {
    const many = Array.from({ length: 200 }, () => uuidv7())
    const row = { passwordHash: null, autoJoined: true, createdAt: 0 }
    const rows = many.map((id) => ({ ...row, id, userName: id, userNameKey: id, email: id }))
    await environment.deps.db.insertInto('users').values(rows).execute()
    const { channel } = (await ann.put(`/channels/${open.id}`, { members: many })).body
    expect(channel.members).toHaveLength(201)

    await join(bob, open)
    const stream = await cat.opensStream()
    await leave(bob, open)
    const { payload } = await stream.waitFor('UPDATE_CHANNEL', { id: open.id, left: [bob.id] })
    expect(payload).toMatchObject({ memberCount: 201 })
    expect(payload).not.toHaveProperty('members')
    await stream.close()
  })

  test('are counted after every kind of addition and removal', async () => {
    const eve = await Person.signIn(environment.baseUrl, `eve-${round}@example.com`)
    await Promise.all([join(eve, open), join(bob, open), ann.put(`/channels/${closed.id}`, { members: [eve.id] })])
    expect([await channelAs(ada, open), await channelAs(ada, closed)]).toMatchObject([
      { memberCount: 3 },
      { memberCount: 2 },
    ])
    await ada.delete(`/users/${eve.id}`)
    expect([await channelAs(ada, open), await channelAs(ada, closed)]).toMatchObject([
      { memberCount: 2 },
      { memberCount: 1 },
    ])
    expect(await membersOf(open)).not.toContain(eve.id)
  })
})

test('new people join General and the public channels of chat.autoJoin', async () => {
  const news = await ann.creates({ name: 'news' })
  const closedNews = await ann.creates({ name: 'Closed news', isPrivate: true })
  const eve = await Person.signIn(environment.baseUrl, 'newcomer@example.com')
  for (const id of [environment.channel.general.id, news.id]) {
    await environment.events.to(bob).toHave('UPDATE_CHANNEL', { id, joined: [eve.id] })
    expect(await channelAs(eve, { id })).toMatchObject({ isMember: true })
  }
  expect(await channelAs(eve, open)).toMatchObject({ isMember: false })
  expect(await membersOf(closedNews)).toEqual([ann.id])
})
