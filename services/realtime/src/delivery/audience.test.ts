import { Socket } from 'node:net'
import { audienceOf, everyone, nobody, onlyUsers, type Routing } from '@parley/contract'
import { type ChannelKind, uuidv7 } from '@parley/database'
import { createMetrics } from '@parley/telemetry'
import { createDatabase, type TestDatabase } from '@parley/test'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOpenStreams, type OpenStream } from '../streams/open-streams.ts'
import { visitAudience } from './audience.ts'
import { createEntitlement, receives } from './entitlement.ts'
import { createKnownChannels } from './known-channels.ts'

const people = Array.from({ length: 5 }, () => uuidv7())
const channelIds = Array.from({ length: 3 }, () => uuidv7())
const person = fc.constantFrom(...people)
const some = fc.uniqueArray(person)
const channelId = fc.constantFrom(...channelIds)

const facts = fc.record({
  channels: fc.tuple(
    ...channelIds.map(() =>
      fc.record({ kind: fc.constantFrom<ChannelKind>('public', 'private', 'direct'), members: some }),
    ),
  ),
  admins: some,
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
      some.map((ids): Routing => onlyUsers(...ids)),
      some.map((users): Routing => ({ to: 'joined', users })),
      fc
        .record({ id: channelId, mentions: some })
        .map(({ id, mentions }): Routing => audienceOf({ id, membersVersion: 1 }, mentions)),
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
})
afterAll(() => database.drop())

test('visits exactly the live streams that the rule allows, each once', async () => {
  const metrics = createMetrics({ service: 'test' })
  await fc.assert(
    fc.asyncProperty(facts, async ({ channels: rows, admins, streams: wanted, events }) => {
      await database.db.deleteFrom('channelMembers').execute()
      await database.db.deleteFrom('channels').execute()
      for (const [index, { kind, members }] of rows.entries()) {
        const id = channelIds[index]!
        await database.db.insertInto('channels').values({ id, kind, name: id, nameKey: id, createdAt: 1 }).execute()
        for (const userId of members) {
          await database.db.insertInto('channelMembers').values({ channelId: id, userId, joinedAt: 1 }).execute()
        }
      }
      const { db } = database.as('realtime')
      const channels = createKnownChannels({ db })
      const limits = { maxStreams: 99, maxStreamsPerUser: 99, maxBufferBytes: 1 }
      const streams = createOpenStreams({ ...limits, metrics, channels, onCount() {} })
      const entitlement = createEntitlement({ db, streams, channels })
      for (const { userId, isScoped, watched, isLive } of wanted) {
        const caller = { userId, sessionId: userId, userName: '', email: '', isAdmin: admins.includes(userId) }
        const follower = isScoped ? await channels.follow(userId) : null
        streams.add(new Socket(), caller, { follower, watched, wantsPresence: true }).isLive = isLive
        if (follower) channels.endOpening(follower)
      }
      await entitlement.load(events.map((routing) => ({ routing })))

      for (const routing of events) {
        const audience = entitlement.judge(routing)
        const visited: OpenStream[] = []
        visitAudience(audience, streams, (stream) => visited.push(stream))
        const expected = [...streams.all].filter((stream) => stream.isLive && receives(audience, stream))
        expect(visited).toHaveLength(expected.length)
        expect(new Set(visited)).toEqual(new Set(expected))
      }
      for (const stream of streams.all) streams.end(stream, 'client')
      expect([streams.scoped.size, streams.unscoped.size, streams.watchers.size]).toEqual([0, 0, 0])
      expect(people.map((id) => streams.follower(id))).toEqual(people.map(() => undefined))
      streams.stopObserving()
    }),
    { numRuns: 60 },
  )
})
