import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '@parley/config'
import { connectRedis, followChannel, type RedisSettings, redisNames } from '@parley/redis'
import { createFailureLog, type Logger, type Metrics, metric } from '@parley/telemetry'
import type { Redis } from 'ioredis'
import { type Batch, traceBatch } from './batch.ts'
import { findRotationOverdue, type RotationHook, startHousekeeping, type Windows, windowMs } from './housekeeping.ts'
import { type Client, connect, type Pool } from './positions.queries.ts'
import { createProgress, type Progress } from './progress.ts'
import { openRedisStreamWriter, type RedisStreamWriter } from './redis-stream.ts'
import {
  acquireLease,
  changeEpoch,
  newEpoch,
  releaseLease,
  type Step,
  stepLimit,
  type Term,
  takeStep,
} from './relay.queries.ts'
import { createSignal, type Signal } from './wake.ts'

export interface RelayOptions {
  pool: Pool
  redis: RedisSettings
  logger: Logger
  metrics: Metrics
  events: Pick<Config['events'], 'replaySeconds' | 'replayMaxEvents' | 'consumerDays'>
  /** A unique name of this candidate: host and process. */
  holder: string
  beforeRotation?: RotationHook
}

export interface Relay {
  /** Becomes a candidate, and leads whenever no other relay does, until it is stopped. */
  start(): void
  /** Ends the term after the current step, if this relay leads, and releases the lease at once. */
  stop(): Promise<void>
  /** A hint of the same process that something was committed. */
  wake(): void
  readonly isLeader: boolean
}

const candidateMs = 500

/**
 * Assigns positions to the events of the outbox and appends them to Redis. There may be any number of relays. One of
 * them leads.
 */
export function createRelay(options: RelayOptions): Relay {
  const { pool, redis: settings, logger, metrics, holder } = options
  const names = redisNames(settings)
  const signal = createSignal()
  const stopping = new AbortController()
  const failures = createFailureLog(logger, 'the relay cannot work')
  let isLeader = false
  let end = async () => {}

  async function competeForLease(redis: ReturnType<typeof connectRedis>) {
    while (!stopping.signal.aborted) {
      try {
        const term = await acquireLease(pool, holder)
        failures.succeeded()
        if (term) {
          isLeader = true
          const { token, epoch, pos } = term
          if (term.isNewEpoch) logger.warn({ epoch, pos }, 'PostgreSQL was restored or promoted, a new epoch begins')
          // A field named `token` would be redacted.
          logger.info({ term: token, epoch, pos }, 'leads the relay')
          await lead({ ...options, redis, names, term, signal, stopping: stopping.signal })
          if (!stopping.signal.aborted) logger.warn({ term: term.token }, 'no longer leads the relay')
        }
      } catch (err) {
        if (!stopping.signal.aborted) failures.failed(err)
      }
      isLeader = false
      // Hints do not shorten this pause. Otherwise candidates would ask for the lease hundreds of times a second.
      await delay(candidateMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  return {
    start() {
      const redis = connectRedis({ settings, name: 'parley-relay', logger })
      const hints = connectRedis({ settings, name: 'parley-relay-hints', logger })
      followChannel({ redis: hints, channel: names.wake, logger, onMessage: signal.ring })
      const endObservation = metrics.gauge(metric.relayLeader, () => (isLeader ? 1 : 0))
      const done = competeForLease(redis)
      end = async () => {
        await done
        redis.disconnect()
        hints.disconnect()
        endObservation()
      }
    },
    async stop() {
      stopping.abort()
      signal.ring()
      await end()
    },
    wake: signal.ring,
    get isLeader() {
      return isLeader
    },
  }
}

interface TermOptions extends Omit<RelayOptions, 'redis'> {
  redis: Redis
  names: ReturnType<typeof redisNames>
  term: Term
  signal: Signal
  stopping: AbortSignal
}

const pollMs = 100
/** The shortest time between two steps, so that under load each step takes many events. */
const stepMs = 16
const renewMs = 900

/**
 * Leads until it is stopped, the token is stale, or PostgreSQL fails. After a failure it is unknown whether the last
 * step was committed, so the term ends. The next term begins with a new token and reads everything again.
 */
async function lead(options: TermOptions): Promise<void> {
  const { pool, redis, names, term, stopping, events, logger, beforeRotation } = options
  const progress = createProgress(term.low, term.positioned)
  const client = await connect(pool)
  const writer = openRedisStreamWriter({
    redis,
    names,
    pool,
    epoch: term.epoch,
    pos: term.pos,
    maxEvents: events.replayMaxEvents,
    onError: (err) => logger.warn({ err }, 'events could not be appended to Redis'),
  })
  const { replaySeconds, consumerDays } = events
  const windows = { window: windowMs(replaySeconds), keep: consumerDays * 86_400_000 }
  const housekeeping = startHousekeeping({
    pool,
    logger,
    progress,
    replaySeconds,
    windows,
    beforeRotation,
    onFloor: writer.trim,
  })
  const endObservations = observeBacklog(options, progress, windows)
  try {
    await relayEvents(options, client, progress, writer)
    if (writer.isAhead) await beginEpoch(options)
    if (stopping.aborted) await releaseLease(pool, term.token, progress.low)
  } finally {
    // The connection is closed and not reused, because a statement may still be running on it.
    client.release(true)
    endObservations()
    await Promise.all([housekeeping.stop(), writer.close()])
  }
}

async function relayEvents(options: TermOptions, client: Client, progress: Progress, writer: RedisStreamWriter) {
  const { term, signal, stopping, metrics } = options
  const relayed = metrics.counter(metric.eventsRelayed).with()
  let renewedAt = performance.now()

  while (!stopping.aborted && !writer.isAhead) {
    const begun = performance.now()
    const renew = begun - renewedAt > renewMs
    const step = await takeStep(client, term, progress, renew)
    const { ids, pos, ctid, xid, xmin } = step
    if (pos !== null && ctid !== null) {
      Object.assign(term, { pos, ctid })
      renewedAt = begun
    } else if (renew || ids.length > 0) {
      // There was something to write, and nothing was written: the token is stale.
      return
    }

    const isFull = ids.length === stepLimit
    progress.advance({ ids, pos: term.pos, xid, xmin, isPartial: isFull })
    writer.offer(term.pos, ids.length > 0 ? batchOf(step, term.pos) : undefined)
    relayed.add(ids.length)
    if (isFull) continue

    await signal.wait(pollMs)
    const leftMs = stepMs - (performance.now() - begun)
    if (leftMs > 1) await delay(leftMs)
  }
}

function batchOf({ ids, lines, oldestAt, traced }: Step, pos: number): Batch {
  const batch = { first: pos - ids.length + 1, count: ids.length, lines, recordedAt: oldestAt ?? undefined }
  return traced ? traceBatch(batch) : batch
}

/** Begins a new epoch. The next term, which follows at once, begins a new Redis Stream. The old one expires. */
async function beginEpoch({ pool, redis, names, term, events, logger }: TermOptions) {
  const epoch = newEpoch()
  if (!(await changeEpoch(pool, term.token, epoch))) return
  logger.warn({ epoch, before: term.epoch }, 'Redis is ahead of PostgreSQL, a new epoch begins')
  await redis.expire(names.stream(term.epoch), events.replaySeconds)
}

function observeBacklog({ metrics, pool }: TermOptions, progress: Progress, windows: Windows) {
  const find = async () => {
    const { rows } = await pool.query<{ depth: number; lag: number }>(
      `select count(*) as depth, coalesce(greatest(now_ms() - min(created_at), 0) / 1000.0, 0)::float8 as lag
       from outbox where id > $1`,
      [progress.high],
    )
    return rows[0]!
  }
  const ends = [
    metrics.gauge(metric.outboxDepth, async () => (await find()).depth),
    metrics.gauge(metric.outboxLag, async () => (await find()).lag),
    metrics.gauge(metric.outboxRotationOverdue, () => findRotationOverdue(pool, windows)),
  ]
  return () => {
    for (const end of ends) end()
  }
}
