import type { Message, ThreadReadState } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import {
  channelOf,
  follows,
  listed,
  newReader,
  replies,
  state,
  statesFor,
  threadOf,
  unique,
} from './follows.testing.ts'
import { removeFromFollows, updateFollows } from './reply-counts.queries.ts'

const environment = testEnvironment()
const told = (person: Person, parent: Message) => statesFor(person, parent, environment)

describe('a thread is followed', () => {
  test('by the author of its message and by whoever replies, from the first reply on', async () => {
    const { ann, bob, cat } = environment.people
    const parent = await ann.says('what do you think?', await channelOf(ann))
    expect(await follows(ann, parent)).toBe(false)
    const reply = await replies(bob, parent)
    expect(await threadOf(ann, parent)).toEqual({
      message: {
        ...parent,
        rev: 2,
        threadMeta: expect.objectContaining({ replyCount: 1, lastReplyAt: reply.createdAt }),
      },
      lastReply: reply,
      lastSeq: 1,
      readSeq: 0,
      unreadCount: 1,
      isFollowing: true,
    })
    expect(await threadOf(bob, parent)).toMatchObject({ lastSeq: 1, readSeq: 1, unreadCount: 0 })
    expect(await follows(cat, parent)).toBe(false)
  })

  test('by people whom a reply mentions by name, not by those of @channel, @here and groups', async () => {
    const { ada, ann, bob, cat } = environment.people
    const channel = await channelOf(ann)
    const parent = await ann.says('parent', channel)
    const { group } = (await ada.post('/groups', { handle: `readers-${unique()}`, name: 'Readers' })).body
    await ada.put(`/groups/${group.id}/members`, { add: [cat.id] })
    await replies(ann, parent, `@channel @here @${group.handle}`)
    expect(await follows(cat, parent)).toBe(false)
    await replies(ann, parent, `@${bob.userName}, please`)
    expect(await threadOf(bob, parent)).toMatchObject({ lastSeq: 2, readSeq: 1, unreadCount: 1 })
    expect(await follows(cat, parent)).toBe(false)
  })

  test('not by somebody who is mentioned and cannot read the channel, nor by bots and webhooks', async () => {
    const { ada, ann, bob, cat } = environment.people
    const channel = await channelOf(ann, { isPrivate: true, members: [bob.id] })
    const { bot } = (await ada.post('/bots', { userName: `threads bot ${unique()}` })).body
    const { token } = (await ada.post(`/bots/${bot.id}/tokens`, { name: 'x', scopes: ['read', 'write'] })).body
    const program = new Person(environment.baseUrl, { id: bot.id, userName: bot.userName }, token)
    await ann.put(`/channels/${channel.id}`, { members: [ann.id, bob.id, bot.id] })
    const parent = await program.says('built', channel)
    await replies(bob, parent, `look, @${cat.userName}`)
    await replies(program, parent, 'done')
    const rows = await environment.deps.db
      .selectFrom('threadFollows')
      .select('userId')
      .where('messageId', '=', parent.id)
      .execute()
    expect(rows.map(({ userId }) => userId)).toEqual([bob.id])
    expect(await program.put(`/messages/${parent.id}/thread/follow`, { isFollowing: true })).toMatchObject({
      status: 403,
    })
    expect(await listed(program)).toEqual({ threads: [], hasMore: false, unreadThreads: 0 })

    const { webhook } = (await ada.post('/webhooks', { name: 'hook', channelId: channel.id })).body
    const hook = new Person(environment.baseUrl, { id: '', userName: 'hook' }, webhook.token)
    const posted = await hook.post(`/webhooks/${webhook.id}/messages`, { content: 'beep', threadId: parent.id })
    expect(posted.status).toBe(200)
    expect(await threadOf(bob, parent)).toMatchObject({ lastSeq: 3, readSeq: 1, unreadCount: 2 })
  })
})

describe('PUT /messages/:messageId/thread/follow', () => {
  const follow = (person: Person, parent: Message, isFollowing: boolean) =>
    person.put(`/messages/${parent.id}/thread/follow`, { isFollowing })

  test('stops until the person replies or is mentioned, and what they missed counts as read', async () => {
    const { ann, bob } = environment.people
    const parent = await ann.says('parent', await channelOf(ann))
    await replies(bob, parent)
    const stopped = await follow(ann, parent, false)
    expect(stopped).toMatchObject({ status: 200, body: { ...state(parent, 1, 1, 0), isFollowing: false } })
    await replies(bob, parent)
    expect(await follows(ann, parent)).toBe(false)
    await replies(bob, parent, `@${ann.userName}`)
    expect(await threadOf(ann, parent)).toMatchObject({ lastSeq: 3, readSeq: 2, unreadCount: 1 })
    await follow(ann, parent, false)
    await replies(ann, parent)
    expect(await threadOf(ann, parent)).toMatchObject({ lastSeq: 4, readSeq: 4, unreadCount: 0 })
  })

  test('stops for the author of the parent before the first reply, until a reply mentions them', async () => {
    const { ann, bob } = environment.people
    const parent = await ann.says('parent', await channelOf(ann))
    const stopped = await follow(ann, parent, false)
    expect(stopped).toMatchObject({ status: 200, body: { ...state(parent, 0, 0, 0), isFollowing: false } })
    await replies(bob, parent)
    expect(await follows(ann, parent)).toBe(false)
    await replies(bob, parent, `@${ann.userName}`)
    expect(await threadOf(ann, parent)).toMatchObject({ lastSeq: 2, readSeq: 1, unreadCount: 1 })
  })

  test('begins for anybody who may read it, also before the first reply, and tells only that person', async () => {
    const { ann, bob, cat } = environment.people
    const parent = await ann.says('parent', await channelOf(ann))
    expect((await follow(cat, parent, true)).body).toEqual(state(parent, 0, 0, 0))
    expect((await follow(cat, parent, true)).body).toEqual(state(parent, 0, 0, 0))
    expect(await follows(cat, parent)).toBe(false)
    await replies(bob, parent)
    expect(await threadOf(cat, parent)).toMatchObject({ lastSeq: 1, readSeq: 0, unreadCount: 1 })
    expect(await told(cat, parent)).toEqual([state(parent, 0, 0, 0), state(parent, 1, 0, 1)])
    await environment.events.to(cat).toHave('THREAD_READ_UPDATE', state(parent, 1, 0, 1))
    await environment.events.to(bob).neverHave('THREAD_READ_UPDATE', { messageId: parent.id, lastSeq: 0 })
  })

  test('is refused without access, for replies, direct messages and unknown messages', async () => {
    const { ann, bob, cat, nobody } = environment.people
    const parent = await ann.says('parent', environment.channel.secret)
    const reply = await replies(bob, parent)
    const { conversation } = (await ann.post('/conversations', { targetUserId: bob.id })).body
    const { message } = (await ann.post(`/conversations/${conversation.id}/messages`, { content: 'psst' })).body
    for (const [person, id, status] of [
      [bob, parent.id, 200],
      [cat, parent.id, 403],
      [nobody, parent.id, 401],
      [ann, reply.id, 400],
      [ann, message.id, 400],
      [ann, uuidv7(), 404],
      [ann, 'nonsense', 404],
    ] as const) {
      const path = `/messages/${id}/thread`
      expect((await person.put(`${path}/follow`, { isFollowing: true })).status).toBe(status)
      expect((await person.put(`${path}/read`, { seq: 0 })).status).toBe(status)
    }
    expect((await bob.put(`/messages/${parent.id}/thread/follow`, { isFollowing: 'maybe' })).status).toBe(400)
  })
})

describe('PUT /messages/:messageId/thread/read', () => {
  const mark = async (person: Person, parent: Message, seq: number): Promise<ThreadReadState> =>
    (await person.put(`/messages/${parent.id}/thread/read`, { seq })).body

  test('never moves back, nor beyond the newest reply, and tells only the person when something changes', async () => {
    const { ann, bob } = environment.people
    const parent = await ann.says('parent', await channelOf(ann))
    for (let n = 0; n < 3; n++) await replies(bob, parent)
    expect(await mark(ann, parent, 2)).toEqual(state(parent, 3, 2, 1))
    for (const seq of [0, 1, 2]) expect(await mark(ann, parent, seq)).toEqual(state(parent, 3, 2, 1))
    for (const seq of [1_000_000, 3, 0]) expect(await mark(ann, parent, seq)).toEqual(state(parent, 3, 3, 0))
    // The second and third reply did not make the thread unread.
    expect(await told(ann, parent)).toEqual([state(parent, 1, 0, 1), state(parent, 3, 2, 1), state(parent, 3, 3, 0)])
    expect(await told(bob, parent)).toEqual([state(parent, 1, 1, 0)])
    for (const body of [{}, { seq: -1 }, { seq: 1.5 }, { seq: '1' }]) {
      expect(await ann.put(`/messages/${parent.id}/thread/read`, body)).toMatchObject({ status: 400 })
    }
  })

  test('one’s own reply reads up to it, and the next reply of somebody else is unread', async () => {
    const { ann, bob } = environment.people
    const parent = await ann.says('parent', await channelOf(ann))
    await replies(bob, parent)
    await replies(ann, parent)
    expect(await threadOf(ann, parent)).toMatchObject({ readSeq: 2, unreadCount: 0 })
    await replies(bob, parent)
    expect(await threadOf(ann, parent)).toMatchObject({ readSeq: 2, unreadCount: 1 })
    expect(await told(ann, parent)).toEqual([state(parent, 1, 0, 1), state(parent, 2, 2, 0), state(parent, 3, 2, 1)])
  })

  test('waits for a reply that is deleted at the same moment, and does not count it', async () => {
    const { ann, bob } = environment.people
    const parent = await ann.says('parent', await channelOf(ann))
    const deleted = (await Promise.all([replies(bob, parent), replies(bob, parent), replies(bob, parent)])).find(
      ({ seq }) => seq === 2,
    )!
    const read = await environment.deps.db.transaction().execute(async (trx) => {
      await trx.updateTable('messages').set({ deletedAt: 1 }).where('id', '=', deleted.id).execute()
      await removeFromFollows(trx, { threadId: parent.id, seq: deleted.seq })
      const request = mark(ann, parent, 1)
      await somebodyWaitsFor(trx)
      return { request }
    })
    expect(await read.request).toEqual(state(parent, 3, 1, 1))
  })

  test('stores nothing for somebody who does not follow the thread', async () => {
    const { ann, bob, cat } = environment.people
    const parent = await ann.says('parent', await channelOf(ann))
    await replies(bob, parent)
    expect(await mark(cat, parent, 1)).toEqual({ ...state(parent, 1, 1, 0), isFollowing: false })
    expect(await told(cat, parent)).toEqual([])
  })
})

describe('PUT /threads/read', () => {
  const ever = Number.MAX_SAFE_INTEGER
  const markAll = async (person: Person, until: number): Promise<number> => {
    const { status, body } = await person.put('/threads/read', { until })
    expect(status, JSON.stringify(body)).toBe(200)
    return body.unreadThreads
  }

  test('marks all threads as read that the person may read, and tells only them, once', async () => {
    const { ann, bob } = environment.people
    const [reader, other] = [await newReader(environment), await newReader(environment)]
    const open = await channelOf(ann)
    const closed = await channelOf(ann, { isPrivate: true, members: [bob.id, reader.id] })
    const [one, two, inClosed] = [
      await reader.says('one', open),
      await reader.says('two', open),
      await reader.says('closed', closed),
    ]
    await other.put(`/messages/${one.id}/thread/follow`, { isFollowing: true })
    for (const parent of [one, two, two, inClosed]) await replies(bob, parent)
    await reader.post(`/channels/${closed.id}/leave`)

    expect(await markAll(reader, ever)).toBe(0)
    expect(await markAll(reader, ever)).toBe(0)
    expect(await threadOf(reader, two)).toMatchObject({ lastSeq: 2, readSeq: 2, unreadCount: 0 })
    expect(await told(reader, one)).toEqual([state(one, 1, 0, 1), state(one, 1, 1, 0)])
    expect(await told(reader, two)).toEqual([state(two, 1, 0, 1), state(two, 2, 2, 0)])
    expect(await told(reader, inClosed)).toEqual([state(inClosed, 1, 0, 1)])
    expect(await threadOf(other, one)).toMatchObject({ readSeq: 0, unreadCount: 1 })
    expect(await told(other, one)).toEqual([state(one, 0, 0, 0), state(one, 1, 0, 1)])

    for (const body of [{}, { until: -1 }, { until: 1.5 }, { until: 'now' }]) {
      expect(await reader.put('/threads/read', body)).toMatchObject({ status: 400 })
    }
    expect(await environment.people.nobody.put('/threads/read', { until: ever })).toMatchObject({ status: 401 })
  })

  test('leaves a thread unread that has a later reply than the person knows', async () => {
    const { ann, bob } = environment.people
    const reader = await newReader(environment)
    const channel = await channelOf(ann)
    const [known, changed] = [await reader.says('known', channel), await reader.says('changed', channel)]
    for (const parent of [changed, known, changed]) await replies(bob, parent)
    const { lastReply } = (await threadOf(reader, changed))!
    expect(await markAll(reader, lastReply.createdAt - 1)).toBe(1)
    expect(await threadOf(reader, known)).toMatchObject({ readSeq: 1, unreadCount: 0 })
    expect(await threadOf(reader, changed)).toMatchObject({ readSeq: 0, unreadCount: 2 })
  })

  test.each([
    ['unread, when it is later than the person knows', 0, { readSeq: 0, unreadCount: 2 }],
    ['read, when it is not', 1, { readSeq: 2, unreadCount: 0 }],
  ])('waits for a reply that is stored at the same moment: the thread is %s', async (_what, later, expected) => {
    const { ann, bob } = environment.people
    const reader = await newReader(environment)
    const channel = await channelOf(ann)
    const parent = await reader.says('parent', channel)
    const { createdAt } = await replies(bob, parent)
    const marked = await environment.deps.db.transaction().execute(async (trx) => {
      const reply = { parentId: parent.id, seq: 2, createdAt: createdAt + 1, authorId: bob.id, mentions: [] }
      await trx
        .updateTable('threads')
        .set({ lastSeq: 2, lastReplyAt: reply.createdAt })
        .where('messageId', '=', parent.id)
        .execute()
      await updateFollows(trx, { id: channel.id, kind: 'public' }, reply)
      const request = markAll(reader, createdAt + later)
      await somebodyWaitsFor(trx)
      return { request }
    })
    expect(await marked.request).toBe(expected.unreadCount === 0 ? 0 : 1)
    expect(await threadOf(reader, parent)).toMatchObject({ lastSeq: 2, ...expected })
  })

  test('counts no reply twice and forgets none while replies come', async () => {
    const { ann, bob, cat } = environment.people
    const reader = await newReader(environment)
    const channel = await channelOf(ann)
    const parents = [await reader.says('one', channel), await reader.says('two', channel)]
    const each = Array.from({ length: 40 }, async (_, n) => {
      await replies(n % 4 < 2 ? bob : cat, parents[n % 2]!)
      if (n % 5 === 0) await markAll(reader, ever)
    })
    await Promise.all(each)
    for (const { lastSeq, readSeq, unreadCount } of (await listed(reader)).threads) {
      expect({ lastSeq, unreadCount }).toEqual({ lastSeq: 20, unreadCount: 20 - readSeq })
    }
  })
})

test('GET /messages/:messageId/thread says how far the caller has read, and whether they follow', async () => {
  const { ann, bob, cat } = environment.people
  const parent = await ann.says('parent', await channelOf(ann))
  await replies(bob, parent)
  const shown = async (person: Person) => {
    const { readSeq, isFollowing } = (await person.get(`/messages/${parent.id}/thread`)).body
    return { readSeq, isFollowing }
  }
  expect(await shown(ann)).toEqual({ readSeq: 0, isFollowing: true })
  expect(await shown(bob)).toEqual({ readSeq: 1, isFollowing: true })
  expect(await shown(cat)).toEqual({ readSeq: 1, isFollowing: false })
})
