import { setTimeout as delay } from 'node:timers/promises'
import { type Database, isDatabaseUnavailable } from '@parley/database'
import { createFailureLog, type Logger, type Metrics, metric } from '@parley/telemetry'
import { sql } from 'kysely'
import { nothingDone, type Projected, projectionSizes, projectNext } from './projection.ts'

interface ProjectorOptions {
  db: Database
  logger: Logger
  metrics: Metrics
}

/** The pause when there is nothing to do. */
const idleMs = 250
/**
 * With this factor the projector works for at most a quarter of the time, because its work slows sends down, and
 * searches read unindexed messages themselves.
 */
const restFactor = 3
/** While it falls behind, it works for an eighth of the time: sends come first, and it catches up afterwards. */
const behindRestFactor = 7
/** While more events arrive than it could follow without any rest, it works for a thirtieth of the time. */
const floodRestFactor = 29

/**
 * How long the projector rests after a step that took `spentMs`. `before` is the number of remaining events after the
 * previous step. `elapsedMs` is the time since then, which is the rest and this step.
 */
export function restMs(
  { spentMs, elapsedMs, before }: { spentMs: number; elapsedMs: number; before: number },
  { more, messages, behind }: Projected,
): number {
  const arrived = behind - before + messages
  const isFlood = arrived / elapsedMs > messages / spentMs
  const rest = spentMs * (behind <= before ? restFactor : isFlood ? floodRestFactor : behindRestFactor)
  return more ? rest : Math.max(idleMs, rest)
}

/** A step that took longer is followed by a smaller one. A statement ends after 30 seconds, and its step would never succeed. */
const longStepMs = 4_000

/**
 * The number of messages in the step after this one. 500 very long texts take longer than a statement may, so the steps become smaller
 * after one that failed or took long, and larger again after quick ones. A step without messages says nothing: perhaps another worker
 * has the work.
 * @param done undefined after a failure.
 */
export function nextBatchSize(size: number, spentMs: number, done: Pick<Projected, 'messages'> | undefined): number {
  if (!done || spentMs > longStepMs) return Math.max(1, Math.floor(size / 4))
  return done.messages === 0 || spentMs > longStepMs / 4 ? size : Math.min(projectionSizes.batchSize, size * 2)
}

/**
 * Keeps the search projection up to date, until it is stopped. Every worker runs a projector. While one works, the
 * others find nothing to do.
 */
export function startProjector({ db, logger, metrics }: ProjectorOptions): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const failures = createFailureLog(logger, 'search could not be brought up to date, will try again')
  const endLag = metrics.gauge(metric.searchLag, async () => (await findLag(db)).seconds)
  const endRebuilding = metrics.gauge(metric.searchRebuilding, async () => ((await findLag(db)).rebuilding ? 1 : 0))

  async function run() {
    // Unknown until the first step. A long backlog at the beginning is no flood.
    let before = Number.POSITIVE_INFINITY
    let batchSize = projectionSizes.batchSize
    let ended = performance.now()
    while (!stopping.signal.aborted) {
      const begun = performance.now()
      const done = await step(batchSize)
      const now = performance.now()
      const spentMs = now - begun
      batchSize = nextBatchSize(batchSize, spentMs, done)
      const rest = restMs({ spentMs, elapsedMs: now - ended, before }, done ?? nothingDone)
      before = done?.behind ?? before
      ended = now
      await delay(rest, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  /** Undefined after a failure. */
  async function step(batchSize: number): Promise<Projected | undefined> {
    try {
      const done = (await isBehind(db)) ? await projectNext(db, { ...projectionSizes, batchSize }) : nothingDone
      failures.succeeded()
      return done
    } catch (err) {
      failures.failed(err, isDatabaseUnavailable(err) ? 'warn' : 'error')
      return undefined
    }
  }
  const running = run()

  return {
    async stop() {
      stopping.abort()
      await running
      endLag()
      endRebuilding()
    },
  }
}

/** Whether there is anything to do. It takes no lock, because most of the time there is nothing. */
async function isBehind(db: Database): Promise<boolean> {
  const { rows } = await sql<{ behind: boolean }>`
    select p.pos < l.pos or p.seen_id < l.low_id or p.unread_below is not null as behind
    from search_progress p, relay_lease l`.execute(db)
  return rows[0]!.behind
}

async function findLag(db: Database): Promise<{ seconds: number; rebuilding: boolean }> {
  const { rows } = await sql<{ seconds: number; rebuilding: boolean }>`
    select coalesce((now_ms() - (
        select created_at from event_positions where last_pos > p.pos order by last_pos limit 1)) / 1000.0, 0)::float8 as seconds,
      p.unread_below is not null as rebuilding
    from search_progress p`.execute(db)
  return rows[0]!
}
