import { isDatabaseUnavailable } from '@parley/database'
import type { Logger } from '@parley/telemetry'
import { type Client, connect, type Pool } from './positions.queries.ts'
import type { LowWater, Progress } from './progress.ts'

/** The outbox has three generations: one is being written, one is full, and one will be emptied next. */
const slots = 3
/** A generation is used for at least this time, however short the replay window is. */
const shortestWindowMs = 60_000
const purgeLimit = 20_000

/** In milliseconds. */
export interface Windows {
  /** Events are kept for at least this time, and for twice this time at most. */
  window: number
  /** Events that a consumer has not read yet are kept for this time. */
  keep: number
}

export const windowMs = (replaySeconds: number) => Math.max(replaySeconds * 1_000, shortestWindowMs)

/**
 * SQL: the consumers for which unread events are kept, each with the time at which its oldest unread event got its
 * position. `keep` is a query parameter. Served by the primary key of event_positions.
 */
const waitingConsumers = (keep: string) => `(
  select c.pos, next.created_at from (
    select epoch, pos from consumers union all select epoch, pos from subscriptions where deleted_at is null
  ) c cross join lateral (
    select p.created_at from event_positions p where p.last_pos > c.pos order by p.last_pos limit 1
  ) next
  where c.epoch = (select epoch from relay_lease) and next.created_at > now_ms() - ${keep}
) waiting`

/**
 * SQL: whether the oldest generation may have events that a consumer has not read yet. All its events are older than
 * the last rotation.
 */
const isHeld = (keep: string) =>
  `exists (select from ${waitingConsumers(keep)} where waiting.created_at <= outbox_ring.rotated_at)`

/**
 * Runs in the transaction that empties a generation of the outbox, before its rows are removed. `table` is the
 * generation's table. It is the last chance for a reader of the outbox to see these rows.
 */
export type RotationHook = (client: Client, table: string) => Promise<void>

/**
 * Empties the oldest generation of the outbox and directs new rows there. This is due when the current generation is a
 * window old, every row of the oldest generation has its position, and no consumer still has to read these rows. The
 * oldest generation is truncated, because deleting rows one by one would cost as much as writing them. Returns false
 * when nothing was due, or when a transaction holds a lock on the generation, because waiting would block every writer.
 */
export async function rotateOutbox(
  pool: Pool,
  low: LowWater,
  windows: Windows,
  beforeRotation: RotationHook = async () => {},
): Promise<boolean> {
  const client = await connect(pool)
  try {
    await client.query('begin')
    await client.query(`set local lock_timeout = '200ms'`)
    const rotated = await rotate(client, low, windows, beforeRotation)
    await client.query(rotated ? 'commit' : 'rollback')
    client.release()
    return rotated
  } catch (error) {
    // The connection itself may have failed, so it is closed with its transaction.
    client.release(true)
    if (isDatabaseUnavailable(error)) return false
    throw error
  }
}

async function rotate(client: Client, low: LowWater, { window, keep }: Windows, beforeRotation: RotationHook) {
  const { rows: due } = await client.query<{ slot: number }>(
    `select slot from outbox_ring where rotated_at <= now_ms() - $1 and not ${isHeld('$2::bigint')} for update`,
    [window, keep],
  )
  if (!due[0]) return false

  const oldest = (due[0].slot + 1) % slots
  await client.query(`lock table outbox_${oldest} in access exclusive mode`)
  const { rows: unsettled } = await client.query(`select from outbox_${oldest} where id > $1 limit 1`, [low.id])
  if (unsettled.length > 0) return false

  await beforeRotation(client, `outbox_${oldest}`)
  await client.query(`truncate outbox_${oldest}`)
  await client.query('update outbox_ring set slot = $1, rotated_at = now_ms()', [oldest])
  return true
}

/**
 * Deletes positions older than two windows, whose outbox rows may be removed. It keeps the positions above the
 * low-water mark in the lease row, which the next leader needs, and those that a consumer has not read yet.
 */
export async function purgePositions(pool: Pool, { window, keep }: Windows): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from event_positions where last_pos = any(array(
       select last_pos from event_positions where created_at < now_ms() - $1 and last_pos <= (select low_pos from relay_lease)
         and last_pos <= coalesce((select min(pos) from ${waitingConsumers('$2::bigint')}), 9223372036854775807)
       order by created_at limit ${purgeLimit}
     ))`,
    [2 * window, keep],
  )
  return rowCount ?? 0
}

/** For how many seconds a rotation has been due. 0 when none is due, or while it waits for consumers. */
export async function findRotationOverdue(pool: Pool, { window, keep }: Windows): Promise<number> {
  const { rows } = await pool.query<{ overdue: number }>(
    `select case when ${isHeld('$2::bigint')} then 0 else greatest(now_ms() - $1 - rotated_at, 0) / 1000.0 end::float8 as overdue
     from outbox_ring`,
    [window, keep],
  )
  return rows[0]!.overdue
}

/** The position up to which all events are older than the replay window; 0 when none are. */
export async function findWindowFloor(pool: Pool, replaySeconds: number): Promise<number> {
  const { rows } = await pool.query<{ last_pos: number }>(
    'select last_pos from event_positions where created_at < now_ms() - $1 order by created_at desc limit 1',
    [replaySeconds * 1_000],
  )
  return rows[0]?.last_pos ?? 0
}

interface Housekeeping {
  stop(): Promise<void>
}

interface HousekeepingOptions {
  pool: Pool
  logger: Logger
  progress: Progress
  replaySeconds: number
  windows: Windows
  beforeRotation?: RotationHook
  /** Called with the first position within the replay window. */
  onFloor(pos: number): void
}

const intervalMs = 10_000
/** When a long transaction delays a rotation for longer than this, it is logged once. */
const overdueSeconds = 600

/** The leader's periodic work: rotates the outbox, deletes old positions, trims the replay window. */
export function startHousekeeping({
  pool,
  logger,
  progress,
  replaySeconds,
  windows,
  beforeRotation,
  onFloor,
}: HousekeepingOptions): Housekeeping {
  let running: Promise<void> | undefined
  let isWarned = false

  async function warnOfDelay() {
    const overdue = await findRotationOverdue(pool, windows)
    if (overdue > overdueSeconds && !isWarned)
      logger.warn({ overdue }, 'the outbox cannot be emptied, because a transaction holds a lock on it: see pg_locks')
    isWarned = overdue > overdueSeconds
  }

  const run = async () => {
    try {
      onFloor((await findWindowFloor(pool, replaySeconds)) + 1)
      if (await rotateOutbox(pool, progress.low, windows, beforeRotation))
        logger.debug('the oldest outbox generation was emptied')
      else await warnOfDelay()
      await purgePositions(pool, windows)
    } catch (err) {
      logger.warn({ err }, 'the housekeeping of the outbox failed; it will be tried again')
    }
  }
  const timer = setInterval(() => {
    running ??= run().finally(() => {
      running = undefined
    })
  }, intervalMs)

  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}
