import { everyone } from '@parley/contract'
import { record, type Transaction } from '@parley/database'
import { redisNames } from '@parley/redis'
import { createLogger, createMetrics } from '@parley/telemetry'
import { createDatabase, createRedis, type TestDatabase, type TestRedis } from '@parley/test'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest'
import { type Batch, decodeBatch } from './batch.ts'
import { createFeed, createRelay, type FeedOptions, type PositionedEvent, type RelayOptions } from './index.ts'
import { connect, readNewestPosition } from './positions.queries.ts'
import { createProgress } from './progress.ts'
import { acquireLease, takeStep } from './relay.queries.ts'

/** A database and a Redis for one test file alone, because its tests restart and empty them. */
export function deliveryEnvironment() {
  const logger = createLogger({ service: 'test', level: 'silent' })
  const metrics = createMetrics({ service: 'test' })
  const open: (() => Promise<unknown> | unknown)[] = []
  const held = {} as { redis: TestRedis; database: TestDatabase; raw: Redis }

  beforeAll(async () => {
    held.database = await createDatabase(20)
    held.redis = await createRedis()
    held.raw = new Redis(held.redis.url)
    held.raw.on('error', () => {})
  })

  beforeEach(async () => {
    await held.database.pool.query(`
      truncate outbox, event_positions;
      update outbox_ring set rotated_at = now_ms();
      update relay_lease set epoch = substr(md5(random()::text), 1, 12), pos = 0, holder = null, expires_at = 0,
        low_id = coalesce((select last_value from pg_sequences where sequencename = 'outbox_ids'), 0), low_pos = 0`)
  })

  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })

  afterAll(async () => {
    held.raw.disconnect()
    await Promise.all([held.database.drop(), held.redis.discard()])
  })

  return {
    held,
    logger,
    metrics,
    relay(options: Partial<RelayOptions> = {}) {
      const relay = createRelay({
        pool: held.database.as('worker').pool,
        redis: { url: held.redis.url },
        logger,
        metrics,
        events: { replaySeconds: 3_600, replayMaxEvents: 1_000, consumerDays: 7 },
        holder: `relay ${open.length}`,
        ...options,
      })
      relay.start()
      open.push(relay.stop)
      return relay
    },
    async feed(options: Partial<FeedOptions> = {}) {
      const events: PositionedEvent[] = []
      const resets: string[] = []
      const feed = createFeed({
        pool: held.database.as('realtime').pool,
        redis: { url: held.redis.url },
        logger,
        metrics,
        memoryEvents: 1_000,
        memoryBytes: 10_000_000,
        onEvents: (more) => void events.push(...more),
        onReset: (reason) => void resets.push(reason),
        ...options,
      })
      await feed.start()
      open.push(feed.close)
      return Object.assign(feed, { events, resets, names: () => events.map(nameOf) })
    },
    /** Records events in one transaction of their own. */
    async says(...names: string[]) {
      await held.database.db.transaction().execute(async (trx) => {
        for (const name of names) await say(trx, name)
      })
    },
    /** Takes one step like a leader that crashes directly after its commit: the events have positions but are not in Redis. */
    async stepWithoutAppend(): Promise<Batch> {
      const { pool } = held.database.as('worker')
      const term = (await acquireLease(pool, 'somebody who dies'))!
      const client = await connect(pool)
      const { ids, lines, pos } = await takeStep(client, term, createProgress(term.low, term.positioned), true)
      client.release(true)
      await pool.query('update relay_lease set expires_at = 0')
      return { first: pos! - ids.length + 1, count: ids.length, lines }
    },
    async streamed(): Promise<string[]> {
      const { epoch } = await readNewestPosition(held.database.pool)
      const entries = await held.raw.xrange(redisNames().stream(epoch), '-', '+')
      return entries.flatMap(([, [, text]]) => decodeBatch(text!).map(nameOf))
    },
    onEnd: (close: () => Promise<unknown> | unknown) => void open.push(close),
    /** Ids in the order of their positions, after checking that the positions have no gaps. */
    async positioned(): Promise<number[]> {
      const { rows } = await held.database.pool.query<{ last_pos: number; outbox_ids: number[] }>(
        'select last_pos, outbox_ids from event_positions order by last_pos',
      )
      let pos = 0
      for (const { last_pos, outbox_ids } of rows) {
        pos += outbox_ids.length
        expect(last_pos).toBe(pos)
      }
      return rows.flatMap(({ outbox_ids }) => outbox_ids)
    },
    async lease() {
      const { rows } = await held.database.pool.query(
        'select token, holder, epoch, pos, low_id, low_pos, expires_at from relay_lease',
      )
      return rows[0] as {
        token: number
        holder: string | null
        epoch: string
        pos: number
        low_id: number
        low_pos: number
        expires_at: number
      }
    },
  }
}

export const say = (trx: Transaction, name: string) =>
  record(trx, { type: 'UPDATE_SERVER_SETTINGS', payload: { name }, routing: everyone })

export const nameOf = ({ event }: PositionedEvent): string => JSON.parse(event!).payload.name

/** Waits until an assertion holds, for 20 s at most. */
export const eventually = (assertion: () => void | Promise<void>) =>
  vi.waitFor(assertion, { timeout: 20_000, interval: 20 })
