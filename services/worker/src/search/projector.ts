import { setTimeout as delay } from 'node:timers/promises'
import { type Database, isDatabaseUnavailable } from '@parley/database'
import { type Logger, type Metrics, metric } from '@parley/telemetry'
import { sql } from 'kysely'
import { nothingDone, type Projected, projectNext } from './projection.ts'

export interface ProjectorOptions {
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

/**
 * Keeps the search projection up to date, until it is stopped. Every worker runs a projector. While one works, the
 * others find nothing to do.
 */
export function startProjector({ db, logger, metrics }: ProjectorOptions): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const endLag = metrics.gauge(metric.searchLag, async () => (await findLag(db)).seconds)
  const endRebuilding = metrics.gauge(metric.searchRebuilding, async () => ((await findLag(db)).rebuilding ? 1 : 0))

  async function run() {
    let before = 0
    let ended = performance.now()
    while (!stopping.signal.aborted) {
      const begun = performance.now()
      const done = await step()
      const now = performance.now()
      const rest = restMs({ spentMs: now - begun, elapsedMs: now - ended, before }, done)
      before = done.behind
      ended = now
      await delay(rest, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  async function step(): Promise<Projected> {
    try {
      return (await isBehind(db)) ? await projectNext(db) : nothingDone
    } catch (err) {
      if (isDatabaseUnavailable(err)) logger.warn({ err }, 'search could not be brought up to date, will try again')
      else logger.error({ err }, 'search could not be brought up to date, will try again')
      return nothingDone
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
