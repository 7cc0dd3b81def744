import { audienceOf, type Routing } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import type { PositionedEvent } from '@parley/events'
import { createDatabase, type TestDatabase } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKnownChannels, hasJoined } from './known-channels.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

const knownChannels = (maxChannels?: number) => createKnownChannels({ db: database.as('realtime').db, maxChannels })

async function addUser(): Promise<string> {
  const id = uuidv7()
  const row = { id, userName: id, userNameKey: id, email: `${id}@example.org`, createdAt: Date.now() }
  await database.db.insertInto('users').values(row).execute()
  return id
}

async function addChannel(members: string[] = [], kind: 'public' | 'private' = 'public'): Promise<string> {
  const id = uuidv7()
  await database.db.insertInto('channels').values({ id, kind, name: id, nameKey: id, createdAt: Date.now() }).execute()
  for (const userId of members) await enter(id, userId)
  return id
}

const enter = (channelId: string, userId: string) =>
  database.db.insertInto('channelMembers').values({ channelId, userId, joinedAt: Date.now() }).execute()

/** Changes the members as a service does. Returns the event's routing. */
async function change(id: string, { joined = [], left = [] }: { joined?: string[]; left?: string[] }) {
  for (const userId of joined) await enter(id, userId)
  for (const userId of left) {
    await database.db.deleteFrom('channelMembers').where('channelId', '=', id).where('userId', '=', userId).execute()
  }
  const channel = await database.db
    .updateTable('channels')
    .set(({ eb }) => ({ membersVersion: eb('membersVersion', '+', 1) }))
    .where('id', '=', id)
    .returning(['id', 'membersVersion'])
    .executeTakeFirstOrThrow()
  return { ...audienceOf(channel), membership: { joined, left } }
}

const eventOf = (routing: Routing): PositionedEvent => ({ pos: 1, routing, event: null, trace: null })
const about = (id: string, membersVersion = 1) => eventOf(audienceOf({ id, membersVersion }))

describe('known channels', () => {
  test('are not forgotten while events wait for another channel', async () => {
    const channels = knownChannels(1)
    const [known, unknown] = [about(await addChannel()), about(await addChannel())]
    await channels.load([known])

    await channels.load([known, unknown])
    expect([known, unknown].map(channels.isKnown)).toEqual([true, true])
    channels.trim()
    expect([known, unknown].map(channels.isKnown)).toEqual([false, true])
  })

  test('know the followers among their members, whichever was there first', async () => {
    const [ann, bob] = [await addUser(), await addUser()]
    const [early, late] = [await addChannel([ann, bob]), await addChannel([ann, bob], 'private')]
    const channels = knownChannels()
    await channels.load([about(early)])
    const follower = await channels.follow(ann)
    await channels.load([about(late)])

    expect([early, late].map((id) => channels.get(id)!.followers)).toEqual([[follower], [follower]])
    channels.endOpening(follower)
    expect([early, late].map((id) => channels.get(id)!.followers)).toEqual([[], []])
  })

  test('apply joins and leaves from events, without reading', async () => {
    const [ann, bob] = [await addUser(), await addUser()]
    const id = await addChannel([ann])
    const channels = knownChannels()
    const [annHere, bobHere] = [await channels.follow(ann), await channels.follow(bob)]
    await channels.load([about(id)])

    const event = eventOf(await change(id, { joined: [bob], left: [ann] }))
    expect(channels.isKnown(event)).toBe(false)
    channels.applyMembership(event)
    expect(channels.isKnown(event)).toBe(true)
    expect(channels.get(id)!.followers).toEqual([bobHere])
    expect(hasJoined(annHere, channels.get(id)!)).toBe(false)
  })

  test('are read when an event does not have the members, or is about a private channel', async () => {
    const [ann, bob] = [await addUser(), await addUser()]
    const channels = knownChannels()
    const bobHere = await channels.follow(bob)
    for (const kind of ['public', 'private'] as const) {
      const id = await addChannel([ann], kind)
      await channels.load([about(id)])
      const { membership, ...audience } = await change(id, { joined: [bob] })
      const event = eventOf(kind === 'public' ? audience : { ...audience, membership })
      channels.applyMembership(event)
      expect(channels.isKnown(event)).toBe(false)
      await channels.load([event])
      expect(channels.get(id)!.followers).toEqual([bobHere])
    }
  })

  test('have a follower who joins or leaves while they open their stream', async () => {
    const ann = await addUser()
    const [joins, leaves] = [await addChannel(), await addChannel([ann])]
    const channels = knownChannels()
    await channels.load([about(joins), about(leaves)])

    // The read is still running when the events arrive.
    const opening = channels.follow(ann)
    const events = [await change(joins, { joined: [ann] }), await change(leaves, { left: [ann] })].map(eventOf)
    for (const event of events) channels.applyMembership(event)
    const follower = await opening
    expect(follower.channels.map(({ id }) => id)).toEqual([joins])
    expect(channels.get(leaves)!.followers).toEqual([])
  })

  test('agree with the database after many people opened streams, joined and left at the same time', async () => {
    const people = await Promise.all(Array.from({ length: 12 }, addUser))
    const ids = await Promise.all(Array.from({ length: 6 }, () => addChannel()))
    const channels = knownChannels(4)
    const members = new Map(ids.map((id) => [id, new Set<string>()]))
    const open: Awaited<ReturnType<typeof channels.follow>>[] = []
    const opening: Promise<unknown>[] = []
    const random = <Item>(items: readonly Item[]) => items[Math.floor(Math.random() * items.length)]!

    for (let step = 0; step < 150; step++) {
      const [id, userId] = [random(ids), random(people)]
      const isMember = members.get(id)!.has(userId)
      const delta = isMember ? { left: [userId] } : { joined: [userId] }
      if (step % 3 === 0) opening.push(channels.follow(userId).then((follower) => open.push(follower)))
      if (step % 7 === 0 && open.length > 0) channels.endOpening(open.splice(0, 1)[0]!)
      const routing = await change(id, delta)
      if (isMember) members.get(id)!.delete(userId)
      else members.get(id)!.add(userId)
      const event = eventOf(step % 5 === 0 ? audienceOf({ id, membersVersion: routing.version }) : routing)
      channels.applyMembership(event)
      if (!channels.isKnown(event)) await channels.load([event])
      if (step % 10 === 0) channels.trim()
    }
    await Promise.all(opening)
    // The node reads only the forgotten channels again. The others have the state that the events gave them.
    const rows = await database.db
      .selectFrom('channels')
      .select(['id', 'membersVersion'])
      .where('id', 'in', ids)
      .execute()
    await channels.load(rows.map((row) => eventOf(audienceOf(row))))

    const here = new Set(open.map(({ userId }) => userId))
    const followers = ids.map((id) =>
      channels
        .get(id)!
        .followers.map(({ userId }) => userId)
        .sort(),
    )
    expect(followers).toEqual(ids.map((id) => [...members.get(id)!].filter((userId) => here.has(userId)).sort()))
    for (const follower of open) {
      expect(follower.channels.map(({ id }) => id).sort()).toEqual(
        ids.filter((id) => members.get(id)!.has(follower.userId)).sort(),
      )
    }
  })
})
