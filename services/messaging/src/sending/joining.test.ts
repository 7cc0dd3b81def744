import type { Message } from '@parley/contract'
import { describe, expect, test } from 'vitest'
import { type Person, says, sendingEnvironment } from './sending.testing.ts'

const environment = sendingEnvironment()
const parsed = async (text: Promise<string>): Promise<Message> => JSON.parse(await text)

/** A process with a long deadline, because locks may take long on a busy machine. */
const process = () => environment.process({ deadlineMs: 120_000 })

const membersOf = async (channelId: string) => {
  const query = environment.db.db.selectFrom('channelMembers').select('userId').where('channelId', '=', channelId)
  return new Set((await query.execute()).map(({ userId }) => userId))
}
const isMember = async (channelId: string, { userId }: Person) => (await membersOf(channelId)).has(userId)

interface Recorded {
  type: string
  payload: { author?: { id: string }; joined?: string[]; memberCount?: number }
}

/** The events about a channel, in order. */
async function recordedIn(channelId: string): Promise<Recorded[]> {
  const query = environment.db.db.selectFrom('outbox').select('event').where('event', 'like', `%${channelId}%`)
  return (await query.orderBy('id').execute()).map(({ event }) => JSON.parse(event!))
}
const eventsOf = async (channelId: string) => (await recordedIn(channelId)).map(({ type }) => type)

/** Every insert of this person into this channel fails. */
const refuseMember = (channelId: string, { userId }: Person) =>
  environment.db.pool.query(
    `create or replace function refuse() returns trigger language plpgsql as 'begin raise ''refused by the test''; end';
     create trigger "refuse ${userId}" before insert on channel_members for each row
       when (new.channel_id = '${channelId}' and new.user_id = '${userId}') execute function refuse()`,
  )

describe('a send to a public channel by somebody who is not a member', () => {
  test('first makes its author a member, and records the event about it', async () => {
    const [ann, bob] = [await environment.person('ann'), await environment.person('bob')]
    const channel = await environment.channel('public', ann)
    const sender = process()
    await sender.send(says(ann, channel, 'one'))
    expect(await parsed(sender.send(says(bob, channel, 'two')))).toMatchObject({ seq: 2, content: 'two' })
    expect(await membersOf(channel)).toEqual(new Set([ann.userId, bob.userId]))
    const events = await eventsOf(channel)
    expect(events.filter((type) => type.endsWith('_MESSAGE'))).toEqual(['NEW_MESSAGE', 'NEW_MESSAGE'])
    expect(events.indexOf('UPDATE_CHANNEL')).toBeGreaterThan(0)
    expect(events.at(-1)).toBe('NEW_MESSAGE')
  })

  test('counts the earlier messages as read', async () => {
    const [ann, bob] = [await environment.person('ann'), await environment.person('bob')]
    const channel = await environment.channel('public', ann)
    const sender = process()
    for (const content of ['one', 'two', 'three']) await sender.send(says(ann, channel, content))
    await sender.send(says(bob, channel, 'four'))
    const state = await environment.db.db
      .selectFrom('readStates')
      .select('readSeq')
      .where('userId', '=', bob.userId)
      .where('channelId', '=', channel)
      .executeTakeFirst()
    expect(state).toEqual({ readSeq: 3 })
  })

  test('stores simultaneous sends of one person in order, and the person joins once', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public')
    const sender = process()
    const sent = await Promise.all(['1', '2', '3', '4'].map((text) => parsed(sender.send(says(ann, channel, text)))))
    expect(sent.map(({ seq, content }) => [seq, content])).toEqual([
      [1, '1'],
      [2, '2'],
      [3, '3'],
      [4, '4'],
    ])
    expect((await eventsOf(channel)).filter((type) => type === 'UPDATE_CHANNEL')).toHaveLength(1)
  })

  test('lets 200 people join who post at the same time, without lost messages or gaps in seq', async () => {
    const people = await Promise.all(Array.from({ length: 200 }, (_, n) => environment.person(`person ${n}`)))
    const channel = await environment.channel('public')
    const processes = [process(), process()]
    const sent = await Promise.all(
      people.map((person, n) => parsed(processes[n % 2]!.send(says(person, channel, `first of ${n}`)))),
    )
    const rows = await environment.stored(channel)
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1))
    expect(rows.map(({ id }) => id)).toEqual(sent.toSorted((a, b) => a.seq - b.seq).map(({ id }) => id))
    expect(await environment.lastSeq(channel)).toBe(200)
    expect(await membersOf(channel)).toEqual(new Set(people.map(({ userId }) => userId)))

    const members = new Set<string>()
    const authors: string[] = []
    for (const { type, payload } of await recordedIn(channel)) {
      if (type === 'UPDATE_CHANNEL') {
        for (const id of payload.joined!) {
          expect(members.has(id)).toBe(false)
          members.add(id)
        }
        expect(payload.memberCount).toBe(members.size)
      } else if (type === 'NEW_MESSAGE') {
        expect(members.has(payload.author!.id)).toBe(true)
        authors.push(payload.author!.id)
      }
    }
    expect(authors).toHaveLength(200)
    expect(members.size).toBe(200)
  })

  test('lets people join together who wait for the same channel', async () => {
    const people = await Promise.all(Array.from({ length: 10 }, (_, n) => environment.person(`person ${n}`)))
    const channel = await environment.channel('public')
    const sender = process()
    // Sends of one turn of the event loop share a statement, so all authors are known to be no members at the same time.
    await Promise.all(people.map((person) => sender.send(says(person, channel, 'hello'))))
    expect(await membersOf(channel)).toEqual(new Set(people.map(({ userId }) => userId)))
    const updates = (await recordedIn(channel)).filter(({ type }) => type === 'UPDATE_CHANNEL')
    expect(updates.map(({ payload }) => new Set(payload.joined))).toEqual([new Set(people.map(({ userId }) => userId))])
  })

  test('lets the others join when one of them cannot', async () => {
    const [ann, bob, cem] = [
      await environment.person('ann'),
      await environment.person('bob'),
      await environment.person('cem'),
    ]
    const channel = await environment.channel('public')
    await refuseMember(channel, bob)
    const sender = process()
    const sends = [ann, bob, cem, bob].map((person, n) => says(person, channel, `${n}`))
    const sent = await Promise.all(sends.map((request) => parsed(sender.send(request))))
    expect(sent.map(({ seq }) => seq).toSorted()).toEqual([1, 2, 3, 4])
    expect(sent[1]!.seq).toBeLessThan(sent[3]!.seq)
    expect(await membersOf(channel)).toEqual(new Set([ann.userId, cem.userId]))
  })

  test('does not make somebody a member who was removed meanwhile', async () => {
    const [ann, bob] = [await environment.person('ann'), await environment.person('bob')]
    const channel = await environment.channel('public')
    const removal = await environment.db.db.startTransaction().execute()
    await removal.updateTable('users').set({ removedAt: Date.now() }).where('id', '=', bob.userId).execute()
    const sender = process()
    const sent = Promise.allSettled([ann, bob].map((person) => sender.send(says(person, channel, 'hello'))))
    await environment.untilWaiting(1)
    await removal.commit().execute()
    expect(await sent).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: { status: 401 } }])
    expect(await membersOf(channel)).toEqual(new Set([ann.userId]))
  })

  test('lets the others join in time when the row of one of them stays locked', async () => {
    const [ann, bob] = [await environment.person('ann'), await environment.person('bob')]
    const channel = await environment.channel('public')
    const lock = await environment.db.db.startTransaction().execute()
    await lock.selectFrom('users').select('id').where('id', '=', bob.userId).forUpdate().execute()
    // The clock stands still, so only the timeouts of locks pass.
    const now = Date.now()
    const sender = environment.process({ deadlineMs: 1_000, clock: () => now })
    const sent = [ann, bob].map((person) => parsed(sender.send(says(person, channel, 'hello'))))
    await Promise.all(sent)
    await lock.commit().execute()
    expect(await membersOf(channel)).toEqual(new Set([ann.userId]))
  })

  test('repeats the first answer for a repeated request, even after its author has left the channel', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public')
    const sender = process()
    const once = says(ann, channel, 'once', { idempotency: { key: 'k', requestHash: 'aa'.repeat(32) } })
    const first = await sender.send(once)
    await environment.db.db.deleteFrom('channelMembers').where('channelId', '=', channel).execute()
    expect(await sender.send(once)).toBe(first)
    expect(await isMember(channel, ann)).toBe(false)
  })

  test('does not make its author a member when it is refused', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public')
    const elsewhere = await environment.channel('private')
    const sender = process()
    const quoting = says(ann, channel, 'x', { quotedMessageId: elsewhere })
    await expect(sender.send(quoting)).rejects.toMatchObject({ status: 400 })
    const ended = { ...ann, sessionId: elsewhere }
    await expect(sender.send(says(ended, channel, 'x'))).rejects.toMatchObject({ status: 401 })
    expect((await membersOf(channel)).size).toBe(0)
  })

  test('is stored even if joining fails', async () => {
    const ann = await environment.person('ann')
    const channel = await environment.channel('public')
    await refuseMember(channel, ann)
    expect(await parsed(process().send(says(ann, channel, 'all the same')))).toMatchObject({ seq: 1 })
    expect(await isMember(channel, ann)).toBe(false)
  })

  test('is stored without joining when its author has not joined after half of the time', async () => {
    const [ann, bob] = [await environment.person('ann'), await environment.person('bob')]
    const channel = await environment.channel('public')
    let now = Date.now()
    const sender = environment.process({ deadlineMs: 120_000, clock: () => now })
    const lock = await environment.db.db.startTransaction().execute()
    await lock.selectFrom('users').select('id').where('id', '=', ann.userId).forUpdate().execute()
    const first = sender.send(says(ann, channel, 'waits until ann can join'))
    await environment.untilWaiting(1)
    const second = sender.send(says(bob, channel, 'waits for the turn of ann'))
    now += 61_000
    expect(await parsed(second)).toMatchObject({ seq: 1 })
    expect(await isMember(channel, bob)).toBe(false)
    await lock.commit().execute()
    expect(await parsed(first)).toMatchObject({ seq: 2 })
  })

  test('does not wait until its author has joined another, locked channel', async () => {
    const ann = await environment.person('ann')
    const [locked, free] = [await environment.channel('public'), await environment.channel('public')]
    const lock = await environment.lock(locked)
    const sender = process()
    const waited = sender.send(says(ann, locked, 'waited'))
    await environment.untilWaiting(1)
    expect(await parsed(sender.send(says(ann, free, 'meanwhile')))).toMatchObject({ seq: 1 })
    await lock.release()
    expect(await parsed(waited)).toMatchObject({ seq: 1 })
    expect(await isMember(locked, ann)).toBe(true)
  })
})

test('an admin who posts to a private channel does not join it', async () => {
  const [ann, ada] = [await environment.person('ann'), await environment.person('ada', { isAdmin: true })]
  const channel = await environment.channel('private', ann)
  expect(await parsed(process().send(says(ada, channel, 'x')))).toMatchObject({ seq: 1 })
  expect(await isMember(channel, ada)).toBe(false)
})
