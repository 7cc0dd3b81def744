import { Socket } from 'node:net'
import { audienceOf, everyone, nobody, onlyUsers, type Role, type Routing } from '@parley/contract'
import { type ChannelKind, uuidv7 } from '@parley/database'
import { createMetrics } from '@parley/telemetry'
import { createDatabase, type TestDatabase } from '@parley/test'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKnownChannels } from '../streams/known-channels.ts'
import { createOpenStreams } from '../streams/open-streams.ts'
import type { OpenStream } from '../streams/stream.ts'
import { visitAudience } from './audience.ts'
import { createEntitlement, receives } from './entitlement.ts'

const people = Array.from({ length: 5 }, () => uuidv7())
const channelIds = Array.from({ length: 3 }, () => uuidv7())
const groupIds = [uuidv7(), uuidv7()]
const person = fc.constantFrom(...people)
const some = fc.uniqueArray(person)
const someMentions = fc.uniqueArray(fc.constantFrom(...people, ...groupIds.map((id) => `group:${id}`)))
const channelId = fc.constantFrom(...channelIds)

const facts = fc.record({
  channels: fc.tuple(
    ...channelIds.map(() =>
      fc.record({ kind: fc.constantFrom<ChannelKind>('public', 'private', 'direct'), members: some }),
    ),
  ),
  groups: fc.tuple(...groupIds.map(() => some)),
  admins: some,
  guests: some,
  streams: fc.array(
    fc.record({
      userId: person,
      isScoped: fc.boolean(),
      watched: fc.uniqueArray(channelId),
      isLive: fc.boolean(),
    }),
    { maxLength: 8 },
  ),
  events: fc.array(
    fc.oneof(
      fc.constantFrom<Routing>(everyone, nobody),
      some.map((guests): Routing => ({ to: 'everyone', guests })),
      some.map((ids): Routing => onlyUsers(...ids)),
      some.map((users): Routing => ({ to: 'joined', users })),
      fc.record({ id: channelId, mentions: someMentions, scopedOnly: fc.constantFrom(undefined, true as const) }).map(
        ({ id, mentions, scopedOnly }): Routing => ({
          ...audienceOf({ id, membersVersion: 1 }, mentions),
          ...(scopedOnly && { scopedOnly }),
        }),
      ),
      fc
        .record({ members: some, channel: fc.option(channelId, { nil: undefined }) })
        .map(({ members, channel }): Routing => ({ to: 'outsiders', members, channel })),
    ),
    { minLength: 1, maxLength: 10 },
  ),
})

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
  for (const id of people) {
    const row = { id, userName: id, userNameKey: id, email: `${id}@example.org`, createdAt: 1 }
    await database.db.insertInto('users').values(row).execute()
  }
  for (const id of groupIds) {
    const names = { handle: id, handleKey: id, handleSkeleton: id, name: id }
    await database.db
      .insertInto('groups')
      .values({ id, ...names, source: 'local', createdAt: 1 })
      .execute()
  }
})
afterAll(() => database.drop())

test('visitAudience visits each live stream for which `receives` is true, once, and no other', async () => {
  const metrics = createMetrics({ service: 'test' })
  await fc.assert(
    fc.asyncProperty(facts, async ({ channels: rows, groups, admins, guests, streams: wanted, events }) => {
      await database.db.deleteFrom('channelMembers').execute()
      await database.db.deleteFrom('channels').execute()
      for (const [index, { kind, members }] of rows.entries()) {
        const id = channelIds[index]!
        await database.db.insertInto('channels').values({ id, kind, name: id, nameKey: id, createdAt: 1 }).execute()
        for (const userId of members) {
          await database.db.insertInto('channelMembers').values({ channelId: id, userId, joinedAt: 1 }).execute()
        }
      }
      await database.db.deleteFrom('groupMembers').execute()
      for (const [index, members] of groups.entries()) {
        const groupId = groupIds[index]!
        for (const userId of members) {
          await database.db.insertInto('groupMembers').values({ groupId, userId, addedAt: 1 }).execute()
        }
      }
      const { db } = database.as('realtime')
      const channels = createKnownChannels({ db })
      const limits = { maxStreams: 99, maxStreamsPerUser: 99, maxBufferBytes: 1 }
      const streams = createOpenStreams({ ...limits, metrics, channels, onCountChange() {} })
      const entitlement = createEntitlement({ db, streams, channels })
      for (const { userId, isScoped, watched, isLive } of wanted) {
        const isAdmin = admins.includes(userId)
        const role = isAdmin ? 'admin' : guests.includes(userId) ? 'guest' : 'member'
        const caller = { userId, sessionId: userId, userName: '', email: '', role: role as Role, isAdmin }
        const follower = isScoped || role === 'guest' ? await channels.follow(userId) : null
        streams.add(new Socket(), caller, { follower, watched, wantsPresence: true }).isLive = isLive
        if (follower) channels.endOpening(follower)
      }
      await entitlement.load(events.map((routing) => ({ routing })))

      for (const routing of events) {
        const audience = entitlement.resolveAudience(routing)
        const visited: OpenStream[] = []
        visitAudience(audience, streams, (stream) => visited.push(stream))
        const expected = [...streams.all].filter((stream) => stream.isLive && receives(audience, stream))
        expect(visited).toHaveLength(expected.length)
        expect(new Set(visited)).toEqual(new Set(expected))
      }
      for (const stream of streams.all) streams.end(stream, 'client')
      expect([streams.scoped, streams.unscoped, streams.ofGuests, streams.watchers].map(({ size }) => size)).toEqual([
        0, 0, 0, 0,
      ])
      expect(people.map((id) => streams.follower(id))).toEqual(people.map(() => undefined))
      streams.stopObserving()
    }),
    { numRuns: 60 },
  )
})
