import type { Message } from '@parley/contract'
import { type Person, somebodyWaitsFor } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { describe, expect, test } from 'vitest'
import { channelOf, follows, newReader, replies, state, statesFor, threadOf } from './follows.testing.ts'

const environment = testEnvironment()
const told = (person: Person, parent: Message) => statesFor(person, parent, environment)

describe('the last unread reply of a thread', () => {
  test('makes it read when it is deleted, also for somebody who has left the public channel', async () => {
    const { ann, bob, cat } = environment.people
    const [outside, stays] = [await newReader(environment), await newReader(environment)]
    const open = await channelOf(ann)
    const parent = await ann.says('parent', open)
    for (const person of [outside, stays]) {
      await person.post(`/channels/${open.id}/join`)
      await person.put(`/messages/${parent.id}/thread/follow`, { isFollowing: true })
    }
    await outside.post(`/channels/${open.id}/leave`)
    const [first, second] = [await replies(bob, parent), await replies(cat, parent)]
    await stays.put(`/messages/${parent.id}/thread/read`, { seq: 1 })
    await bob.delete(`/messages/${parent.id}/thread/${first.id}`)
    expect((await told(outside, parent)).at(-1)).toEqual(state(parent, 1, 0, 1))
    await cat.delete(`/messages/${parent.id}/thread/${second.id}`)
    for (const person of [ann, bob, outside, stays]) {
      expect((await told(person, parent)).at(-1)).toEqual(state(parent, 2, 2, 0))
    }

    await replies(bob, parent)
    expect((await told(outside, parent)).at(-1)).toEqual(state(parent, 3, 2, 1))
    await ann.delete(`/messages/${parent.id}`)
    for (const person of [outside, cat]) {
      expect((await told(person, parent)).at(-1)).toEqual({ ...state(parent, 3, 3, 0), isFollowing: false })
    }
    expect((await told(bob, parent)).at(-1)).toMatchObject({ isFollowing: true })
  })

  test('tells nobody who cannot read the channel any more', async () => {
    const { ann, bob } = environment.people
    const reader = await newReader(environment)
    const closed = await channelOf(ann, { isPrivate: true, members: [bob.id, reader.id] })
    const [kept, gone] = [await reader.says('kept', closed), await reader.says('gone', closed)]
    const [reply] = [await replies(bob, kept), await replies(bob, gone)]
    await reader.post(`/channels/${closed.id}/leave`)
    await bob.delete(`/messages/${kept.id}/thread/${reply.id}`)
    await environment.people.ada.delete(`/messages/${gone.id}`)
    expect(await told(reader, kept)).toEqual([state(kept, 1, 0, 1)])
    expect(await told(reader, gone)).toEqual([state(gone, 1, 0, 1)])
  })

  test('is found although another reply is read at the same moment', async () => {
    const { ann, bob } = environment.people
    const parent = await ann.says('parent', await channelOf(ann))
    const [, second] = [await replies(bob, parent), await replies(bob, parent)]
    const deletion = await environment.deps.db.transaction().execute(async (trx) => {
      await trx
        .updateTable('threadFollows')
        .set({ readSeq: 1, unreadCount: 1 })
        .where('messageId', '=', parent.id)
        .where('userId', '=', ann.id)
        .execute()
      const request = bob.delete(`/messages/${parent.id}/thread/${second.id}`)
      await somebodyWaitsFor(trx)
      return { request }
    })
    expect((await deletion.request).status).toBe(200)
    expect((await told(ann, parent)).at(-1)).toEqual(state(parent, 2, 2, 0))
  })
})

describe('the number of unread replies', () => {
  test('a deleted reply is not unread any more, and a thread without replies is not listed', async () => {
    const { ann, bob } = environment.people
    const parent = await ann.says('parent', await channelOf(ann))
    const other = await ann.says('other', await channelOf(ann))
    const [first, second] = [await replies(bob, parent), await replies(bob, parent)]
    await replies(bob, other)
    await ann.put(`/messages/${parent.id}/thread/read`, { seq: 1 })
    await bob.delete(`/messages/${parent.id}/thread/${first.id}`)
    expect(await threadOf(ann, parent)).toMatchObject({ readSeq: 1, unreadCount: 1 })
    await bob.delete(`/messages/${parent.id}/thread/${second.id}`)
    expect(await follows(ann, parent)).toBe(false)
    await replies(bob, parent)
    expect(await threadOf(ann, parent)).toMatchObject({ lastSeq: 3, readSeq: 2, unreadCount: 1 })
    await bob.delete(`/messages/${parent.id}/thread/${(await replies(bob, parent)).id}`)
    expect(await threadOf(ann, parent)).toMatchObject({ lastSeq: 4, readSeq: 2, unreadCount: 1 })
  })

  test('fifty replies at once are all counted, while somebody reads', async () => {
    const { ann, bob, cat } = environment.people
    const parent = await ann.says('parent', await channelOf(ann))
    const each = Array.from({ length: 50 }, async (_, n) => {
      await replies(n % 2 === 0 ? bob : cat, parent)
      if (n % 5 === 0) await ann.put(`/messages/${parent.id}/thread/read`, { seq: n })
    })
    await Promise.all(each)
    const thread = await threadOf(ann, parent)
    expect(thread!.lastSeq).toBe(50)
    expect(thread!.unreadCount).toBe(50 - thread!.readSeq)
  })
})
