import type { Message } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import type { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { channelOf, type Listed, listed, newReader, replies, statesFor, threadOf } from './follows.testing.ts'

const environment = testEnvironment()
const told = (person: Person, parent: Message) => statesFor(person, parent, environment)

describe('GET /threads', () => {
  test('has pages, newest reply first, and only the unread ones on demand', async () => {
    const { ann, bob } = environment.people
    const reader = await newReader(environment)
    const channel = await channelOf(ann)
    const parents: Message[] = []
    for (const name of ['1', '2', '3']) parents.push(await reader.says(name, channel))
    const [first, second, third] = parents as [Message, Message, Message]
    for (const parent of [third, first, second]) await replies(bob, parent)
    await reader.put(`/messages/${first.id}/thread/read`, { seq: 1 })
    const ids = ({ threads }: Listed) => threads.map(({ message }) => message.id)

    const page = await listed(reader, 'limit=2')
    expect(page).toMatchObject({ hasMore: true, unreadThreads: 2 })
    expect(ids(page)).toEqual([second.id, first.id])
    const next = await listed(reader, `limit=2&before=${first.id}`)
    expect(next).toMatchObject({ hasMore: false })
    expect(ids(next)).toEqual([third.id])
    expect(ids(await listed(reader, 'unread=true'))).toEqual([second.id, third.id])
    expect(ids(await listed(reader, `unread=true&before=${first.id}`))).toEqual([third.id])

    await replies(ann, third)
    expect(ids(await listed(reader))).toEqual([third.id, second.id, first.id])
    const withoutReplies = await reader.says('4', channel)
    for (const query of [
      'before=nonsense',
      `before=${uuidv7()}`,
      `before=${withoutReplies.id}`,
      'limit=0',
      'unread=perhaps',
    ]) {
      expect(await reader.get(`/threads?${query}`)).toMatchObject({ status: 400 })
    }
    expect(await environment.people.nobody.get('/threads')).toMatchObject({ status: 401 })
  })

  test('has a next page when the last thread of the page before was deleted meanwhile, or lost all its replies', async () => {
    const { ann, bob } = environment.people
    const reader = await newReader(environment)
    const channel = await channelOf(ann)
    const parents: Message[] = []
    for (const name of ['oldest', 'emptied', 'deleted', 'newest']) parents.push(await reader.says(name, channel))
    const [oldest, emptied, deleted, newest] = parents as [Message, Message, Message, Message]
    await replies(bob, oldest)
    const onlyReply = await replies(bob, emptied)
    await replies(bob, deleted)
    await replies(bob, newest)
    await bob.delete(`/messages/${emptied.id}/thread/${onlyReply.id}`)
    await reader.delete(`/messages/${deleted.id}`)
    for (const last of [emptied, deleted]) {
      expect((await listed(reader, `before=${last.id}`)).threads.map(({ message }) => message.id)).toEqual([oldest.id])
    }
  })

  test('leaves out threads that the person cannot read any more, and those of deleted messages', async () => {
    const { ann, bob } = environment.people
    const reader = await newReader(environment)
    const closed = await channelOf(ann, { isPrivate: true, members: [bob.id, reader.id] })
    const open = await channelOf(ann)
    const [inClosed, deleted, kept] = [
      await reader.says('closed', closed),
      await reader.says('deleted', open),
      await reader.says('kept', open),
    ]
    for (const parent of [inClosed, deleted, kept]) await replies(bob, parent)
    expect(await listed(reader)).toMatchObject({ threads: [{}, {}, {}], unreadThreads: 3 })
    await reader.post(`/channels/${closed.id}/leave`)
    await reader.delete(`/messages/${deleted.id}`)
    const left = await listed(reader)
    expect(left.threads.map(({ message }) => message.id)).toEqual([kept.id])
    expect(left.unreadThreads).toBe(1)

    await replies(bob, inClosed)
    expect((await told(reader, inClosed)).map(({ lastSeq }) => lastSeq)).toEqual([1])
    await environment.people.ada.delete(`/channels/${open.id}`)
    expect(await listed(reader)).toEqual({ threads: [], hasMore: false, unreadThreads: 0 })
  })

  test('what somebody has missed while they could not read the channel counts as read when they come back', async () => {
    const { ann, bob } = environment.people
    const reader = await newReader(environment)
    const channel = await channelOf(ann, { isPrivate: true, members: [bob.id, reader.id] })
    const [unread, read] = [await reader.says('unread', channel), await reader.says('read', channel)]
    for (const parent of [unread, read]) await replies(bob, parent)
    await reader.put(`/messages/${read.id}/thread/read`, { seq: 1 })
    await reader.post(`/channels/${channel.id}/leave`)
    const [, missed] = [await replies(bob, unread), await replies(bob, unread), await replies(bob, read)]
    await bob.delete(`/messages/${unread.id}/thread/${missed.id}`)
    await ann.put(`/channels/${channel.id}`, { addMembers: [reader.id] })
    expect(await listed(reader)).toMatchObject({
      threads: [
        { message: { id: read.id }, readSeq: 2, unreadCount: 0 },
        { message: { id: unread.id }, readSeq: 3, unreadCount: 0 },
      ],
      unreadThreads: 0,
    })
    await replies(bob, unread)
    expect(await threadOf(reader, unread)).toMatchObject({ lastSeq: 4, readSeq: 3, unreadCount: 1 })
    expect((await told(reader, unread)).map(({ lastSeq }) => lastSeq)).toEqual([1, 4])
  })
})
