import { setImmediate as turn } from 'node:timers/promises'
import { audienceOf } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import type { PositionedEvent } from '@parley/events'
import { createMetrics } from '@parley/telemetry'
import { createDatabase, type TestDatabase } from '@parley/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOpenStreams } from '../streams/open-streams.ts'
import { createEntitlement } from './entitlement.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

async function addChannel(): Promise<string> {
  const id = uuidv7()
  const row = { id, kind: 'public', name: id, nameKey: id, createdAt: Date.now() } as const
  await database.db.insertInto('channels').values(row).execute()
  return id
}

const about = (id: string): PositionedEvent => ({
  pos: 1,
  routing: audienceOf({ id, membersVersion: 1 }),
  event: null,
  trace: null,
})

test('a channel is not forgotten before the events that waited for another channel are judged', async () => {
  const metrics = createMetrics({ service: 'test' })
  const streams = createOpenStreams({
    maxStreams: 1,
    maxStreamsPerUser: 1,
    maxBufferBytes: 1,
    metrics,
    onCount() {},
  })
  const entitlement = createEntitlement({ db: database.as('realtime').db, streams, knownChannels: 1 })
  const [known, unknown] = [about(await addChannel()), about(await addChannel())]
  await entitlement.load([known])

  await entitlement.load([known, unknown])
  expect([known, unknown].map(({ routing }) => entitlement.judge(routing).to)).toEqual(['everyone', 'everyone'])
  await turn()
  expect([known, unknown].map((event) => entitlement.canJudge([event]))).toEqual([false, true])
})
