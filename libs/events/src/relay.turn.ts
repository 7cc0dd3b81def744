import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '@parley/config'
import { type Logger, type Metrics, metric } from '@parley/telemetry'
import type { Redis } from 'ioredis'
import type { Batch } from './batch.format.ts'
import type { redisNames } from './keys.ts'
import { type Client, connect, type Pool } from './positions.queries.ts'
import { createProgress, type Progress } from './progress.ts'
import type { RedisSettings } from './redis.client.ts'
import { findRotationOverdue, startChores, windowMs } from './relay.housekeeping.ts'
import { changeEpoch, newEpoch, releaseLease, type Term } from './relay.lease.ts'
import { type Step, stepLimit, takeStep } from './relay.step.ts'
import { type EventStream, openEventStream } from './relay.stream.ts'
import { traceBatch } from './relay.trace.ts'
import type { Signal } from './signal.ts'

export interface RelayOptions {
  pool: Pool
  redis: RedisSettings
  logger: Logger
  metrics: Metrics
  events: Pick<Config['events'], 'replaySeconds' | 'replayMaxEvents'>
  /** Names this candidate, unlike any other: host and process. */
  holder: string
}

export interface TurnOptions extends Omit<RelayOptions, 'redis'> {
  redis: Redis
  names: ReturnType<typeof redisNames>
  term: Term
  signal: Signal
  stopping: AbortSignal
}

const pollMs = 100
/** Steps keep this distance, so that under load each carries many events instead of few. */
const distanceMs = 8
const renewMs = 900

/**
 * Leads until told to stop, until the token is stale, or until PostgreSQL fails. After a failure nobody knows whether the
 * last step took place, so the turn ends, and the next one begins with a new token and a fresh look.
 */
export async function lead(options: TurnOptions): Promise<void> {
  const { pool, redis, names, term, stopping, events, logger } = options
  const progress = createProgress(term.low, term.positioned)
  const client = await connect(pool)
  const stream = openEventStream({
    redis,
    names,
    pool,
    epoch: term.epoch,
    pos: term.pos,
    maxEvents: events.replayMaxEvents,
    onError: (err) => logger.warn({ err }, 'events could not be appended to Redis'),
  })
  const chores = startChores({ pool, logger, progress, replaySeconds: events.replaySeconds, onFloor: stream.trim })
  const endObservations = observeBacklog(options, progress)
  try {
    await relayEvents(options, client, progress, stream)
    if (stream.isAhead) await beginEpoch(options)
    if (stopping.aborted) await releaseLease(pool, term.token, progress.low)
  } finally {
    // Not back into the pool: a statement may still be under way on it.
    client.release(true)
    endObservations()
    await Promise.all([chores.stop(), stream.close()])
  }
}

async function relayEvents(options: TurnOptions, client: Client, progress: Progress, stream: EventStream) {
  const { term, signal, stopping, metrics } = options
  const relayed = metrics.counter(metric.eventsRelayed).with()
  let renewedAt = performance.now()

  while (!stopping.aborted && !stream.isAhead) {
    const begun = performance.now()
    const renew = begun - renewedAt > renewMs
    const step = await takeStep(client, term, progress, renew)
    const { ids, pos, ctid, xid, xmin } = step
    if (pos !== null && ctid !== null) {
      Object.assign(term, { pos, ctid })
      renewedAt = begun
    } else if (renew || ids.length > 0) {
      return
    }

    const isFull = ids.length === stepLimit
    progress.advance({ ids, pos: term.pos, xid, xmin, cut: isFull })
    stream.offer(term.pos, ids.length > 0 ? batchOf(step, term.pos) : undefined)
    relayed.add(ids.length)
    if (isFull) continue

    await signal.wait(pollMs)
    const early = distanceMs - (performance.now() - begun)
    if (early > 1) await delay(early)
  }
}

function batchOf({ ids, lines, oldestAt, traced }: Step, pos: number): Batch {
  const batch = { first: pos - ids.length + 1, count: ids.length, lines, recordedAt: oldestAt ?? undefined }
  return traced ? traceBatch(batch) : batch
}

/** Leaves the history that Redis has to itself; the next turn, which follows at once, begins a stream of its own. */
async function beginEpoch({ pool, redis, names, term, events, logger }: TurnOptions) {
  const epoch = newEpoch()
  if (!(await changeEpoch(pool, term.token, epoch))) return
  logger.warn({ epoch, before: term.epoch }, 'Redis is ahead of PostgreSQL, a new epoch begins')
  await redis.expire(names.stream(term.epoch), events.replaySeconds)
}

function observeBacklog({ metrics, pool, events }: TurnOptions, progress: Progress) {
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
    metrics.gauge(metric.outboxRotationOverdue, () => findRotationOverdue(pool, windowMs(events.replaySeconds))),
  ]
  return () => {
    for (const end of ends) end()
  }
}
