import { isDatabaseAway } from '@parley/database'
import type { Logger } from '@parley/telemetry'
import { type Client, connect, type Pool } from './positions.queries.ts'
import type { LowWater, Progress } from './progress.ts'

/** The generations of the outbox: one is written, one is full, one is about to be emptied. */
const slots = 3
/** Above the id of every message. */
const endOfIds = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
/** A generation lasts at least this long, however short the replay window is. */
const shortestWindowMs = 60_000
const purgeLimit = 20_000

export const windowMs = (replaySeconds: number) => Math.max(replaySeconds * 1_000, shortestWindowMs)

/**
 * Empties the oldest generation of the outbox and has new rows written there, when the current one is a window old and
 * everything in the oldest is settled. Emptied whole, because deleting rows one by one would cost as much as writing them.
 * The projection of search is told when it has not read all of it: it then reads the messages themselves anew.
 * Answers whether it did; when somebody holds the generation it does not, rather than hold up everyone behind it.
 */
export async function rotateOutbox(pool: Pool, low: LowWater, window: number): Promise<boolean> {
  const client = await connect(pool)
  try {
    await client.query('begin')
    await client.query(`set local lock_timeout = '200ms'`)
    const rotated = await rotate(client, low, window)
    await client.query(rotated ? 'commit' : 'rollback')
    client.release()
    return rotated
  } catch (error) {
    // The connection goes with the transaction: it may be the connection that failed.
    client.release(true)
    if (isDatabaseAway(error)) return false
    throw error
  }
}

async function rotate(client: Client, low: LowWater, window: number) {
  const { rows: due } = await client.query<{ slot: number }>(
    'select slot from outbox_ring where rotated_at <= now_ms() - $1 for update',
    [window],
  )
  if (!due[0]) return false

  const oldest = (due[0].slot + 1) % slots
  await client.query(`lock table outbox_${oldest} in access exclusive mode`)
  const { rows: unsettled } = await client.query(`select from outbox_${oldest} where id > $1 limit 1`, [low.id])
  if (unsettled.length > 0) return false

  await client.query(
    `update search_progress set unread_below = $1 where exists (select from outbox_${oldest} where id > seen_id offset 0)`,
    [endOfIds],
  )
  await client.query(`truncate outbox_${oldest}`)
  await client.query('update outbox_ring set slot = $1, rotated_at = now_ms()', [oldest])
  return true
}

/**
 * Forgets positions older than two windows, by when their rows may have gone. Never those a leader needs to take over, and
 * that one begins where the lease says: it may say less than the present leader knows.
 */
export async function purgePositions(pool: Pool, window: number): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from event_positions where last_pos = any(array(
       select last_pos from event_positions where created_at < now_ms() - $1 and last_pos <= (select low_pos from relay_lease)
       order by created_at limit ${purgeLimit}
     ))`,
    [2 * window],
  )
  return rowCount ?? 0
}

/** For how many seconds a rotation has been due; 0 when none is. */
export async function findRotationOverdue(pool: Pool, window: number): Promise<number> {
  const { rows } = await pool.query<{ overdue: number }>(
    'select greatest(now_ms() - $1 - rotated_at, 0) / 1000.0::float8 as overdue from outbox_ring',
    [window],
  )
  return rows[0]!.overdue
}

/** The position up to which everything is older than the replay window; 0 when nothing is. */
export async function findWindowFloor(pool: Pool, replaySeconds: number): Promise<number> {
  const { rows } = await pool.query<{ last_pos: number }>(
    'select last_pos from event_positions where created_at < now_ms() - $1 order by created_at desc limit 1',
    [replaySeconds * 1_000],
  )
  return rows[0]?.last_pos ?? 0
}

export interface Chores {
  stop(): Promise<void>
}

export interface ChoresOptions {
  pool: Pool
  logger: Logger
  progress: Progress
  replaySeconds: number
  /** Told up to which position everything is older than the replay window. */
  onFloor(pos: number): void
}

const choresMs = 10_000
/** A rotation that a long transaction holds up for longer than this is told of, once. */
const overdueSeconds = 600

/** What the leader does now and then: rotate the outbox, forget old positions, move the replay window on. */
export function startChores({ pool, logger, progress, replaySeconds, onFloor }: ChoresOptions): Chores {
  const window = windowMs(replaySeconds)
  let running: Promise<void> | undefined
  let isTold = false

  async function tellOfDelay() {
    const overdue = await findRotationOverdue(pool, window)
    if (overdue > overdueSeconds && !isTold)
      logger.warn({ overdue }, 'the outbox cannot be emptied, somebody holds it: see pg_locks')
    isTold = overdue > overdueSeconds
  }

  const run = async () => {
    try {
      onFloor((await findWindowFloor(pool, replaySeconds)) + 1)
      if (await rotateOutbox(pool, progress.low, window)) logger.debug('the oldest outbox generation was emptied')
      else await tellOfDelay()
      await purgePositions(pool, window)
    } catch (err) {
      logger.warn({ err }, 'the relay could not tidy up, it will try again')
    }
  }
  const timer = setInterval(() => {
    running ??= run().finally(() => {
      running = undefined
    })
  }, choresMs)

  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}
