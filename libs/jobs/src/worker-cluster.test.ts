import { recordJob } from '@parley/database'
import { createWaker } from '@parley/events'
import { createLogger, createMetrics } from '@parley/telemetry'
import { createDatabase, type RedisShapes, redisShapes, type TestDatabase, whyNoRedis } from '@parley/test'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createWorker } from './index.ts'

const missing = await whyNoRedis()
let database: TestDatabase
let shapes: RedisShapes | undefined
beforeAll(async () => {
  database = await createDatabase()
  if (!missing) shapes = await redisShapes()
})
afterAll(() => Promise.all([database.drop(), shapes?.discard()]))

test.skipIf(missing)(`jobs in a Redis Cluster${missing ? ` (skipped: ${missing})` : ''}`, async () => {
  const nodes = await shapes!.cluster()
  const redis = { clusterNodes: [nodes[2]!.address], keyPrefix: 'team:' }
  const logger = createLogger({ service: 'test', level: 'silent' })
  const tries: string[] = []
  const start = () =>
    createWorker({
      queues: {
        'send-mail': {
          async handler({ to }) {
            tries.push(to)
            if (to === 'fails once' && tries.filter((other) => other === to).length === 1) throw new Error('at first')
          },
          attempts: 3,
          backoffMs: 1,
          concurrency: 2,
        },
      },
      db: database.as('worker').db,
      redis,
      logger,
      metrics: createMetrics({ service: 'test' }),
      clock: Date.now,
    })
  const workers = [start(), start()]
  const waker = createWaker(redis)
  for (const to of ['one', 'two', 'fails once']) {
    await database
      .as('auth')
      .db.transaction()
      .execute((trx) => recordJob(trx, 'send-mail', { to, subject: 'subject', text: 'text' }))
    waker.wake()
  }
  await vi.waitFor(async () => expect((await database.pool.query('select from jobs')).rowCount).toBe(0), {
    timeout: 20_000,
    interval: 20,
  })
  expect(tries.toSorted()).toEqual(['fails once', 'fails once', 'one', 'two'])

  const keys = await Promise.all(nodes.map((node) => node.ask((client) => client.keys('*'))))
  expect(keys.flat().filter((key) => !key.startsWith('team:{jobs}'))).toEqual([])
  waker.close()
  await Promise.all(workers.map((worker) => worker.stop()))
})
