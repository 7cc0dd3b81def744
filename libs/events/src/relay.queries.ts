import { randomBytes } from 'node:crypto'
import { type Client, lineOf, type Pool } from './positions.queries.ts'
import type { LowWater, Progress } from './progress.ts'

/** How long a lease is valid after its last renewal, by the clock of PostgreSQL. */
const leaseMs = 3_000

/** One term of a leader. Every write of the term checks the token, so a former leader cannot write. */
export interface Term {
  token: number
  /** Physical address of the lease row, by which it is found at once, also when a long snapshot keeps many old versions of it. */
  ctid: string
  epoch: string
  /** Whether the epoch began with this term, because PostgreSQL was restored or promoted. */
  isNewEpoch: boolean
  pos: number
  low: LowWater
  /** Outbox ids above `low` that have a position already. */
  positioned: number[]
}

/** A random epoch, long enough to be unique. */
export const newEpoch = () => randomBytes(6).toString('hex')

/**
 * Takes the lease when it is free or expired, or when the same holder has it, whose earlier term then ends. Otherwise
 * returns undefined. A lease that would last longer than `leaseMs` was taken before the clock was set back, and counts
 * as expired.
 *
 * PostgreSQL may have been promoted or restored meanwhile, and may not have all positions that were assigned. The same
 * position would then mean two events. So when the database has another history, a new epoch begins together with the
 * lease, before any position is assigned. (A restored copy of the data directory has the same history. Then Redis is
 * ahead, see `redis-stream.ts`.)
 */
export async function acquireLease(pool: Pool, holder: string): Promise<Term | undefined> {
  const freshEpoch = newEpoch()
  const { rows } = await pool.query<LeaseRow>(
    `update relay_lease set token = token + 1, holder = $1, expires_at = now_ms() + $2,
       epoch = case when history <> database_history() then $3 else epoch end,
       history = coalesce(database_history(), history)
     where expires_at not between now_ms() and now_ms() + $2 or holder = $1
     returning token, ctid::text, epoch, pos, low_id, low_pos`,
    [holder, leaseMs, freshEpoch],
  )
  const lease = rows[0]
  if (!lease) return undefined

  // This is a separate statement, because only now the last batch of the former leader is surely visible.
  const { rows: batches } = await pool.query<{ outbox_ids: number[] }>(
    'select outbox_ids from event_positions where last_pos > $1',
    [lease.low_pos],
  )
  const positioned = batches.flatMap(({ outbox_ids }) => outbox_ids.filter((id) => id > lease.low_id))
  const { token, ctid, epoch, pos, low_id, low_pos } = lease
  const isNewEpoch = epoch === freshEpoch
  return { token, ctid, epoch, isNewEpoch, pos, low: { id: low_id, pos: low_pos }, positioned }
}

interface LeaseRow {
  token: number
  ctid: string
  epoch: string
  pos: number
  low_id: number
  low_pos: number
}

/** Releases the lease with its low-water mark. Does nothing when another process has taken it. */
export async function releaseLease(pool: Pool, token: number, low: LowWater): Promise<void> {
  await pool.query('update relay_lease set holder = null, expires_at = 0, low_id = $2, low_pos = $3 where token = $1', [
    token,
    low.id,
    low.pos,
  ])
}

/** Begins a new epoch. Cursors of the old one are unknown from now on. Returns whether the token was still valid. */
export async function changeEpoch(pool: Pool, token: number, epoch: string): Promise<boolean> {
  const { rowCount } = await pool.query('update relay_lease set epoch = $2 where token = $1', [token, epoch])
  return rowCount === 1
}

export interface Step {
  /** The outbox ids that got positions, ascending. */
  ids: number[]
  /** Their lines, in the same order; see `Batch`. */
  lines: string
  /** When the oldest of them was recorded, epoch milliseconds. */
  oldestAt: number | null
  traced: boolean
  /** The last position assigned so far. Null when nothing was written, because there was nothing to do or the token is stale. */
  pos: number | null
  ctid: string | null
  xid: number | null
  xmin: number
}

/** The largest number of events that one step assigns positions to. */
export const stepLimit = 1_000

/**
 * The only statement of a step: it takes committed rows in the order of their ids, assigns gapless positions to them
 * under the token, and stores these as one row. The inner limit makes the planner look up each hole by index. With a
 * plain join it would read the whole outbox at each step. The aggregates get the rows in the order of `batch`, so ids
 * and lines belong together.
 */
const stepStatement = {
  name: 'parley_relay_step',
  text: `
    with late as materialized (
      select o.* from unnest($3::bigint[], $4::bigint[]) as hole(first, last)
      cross join lateral (
        select * from outbox where id between hole.first and hole.last order by id limit ${stepLimit}
      ) o order by o.id limit ${stepLimit}
    ), fresh as materialized (
      select * from outbox where id > $2 order by id limit ${stepLimit}
    ), batch as materialized (
      select * from (select * from late union all select * from fresh) found order by id limit ${stepLimit}
    ), counted as materialized (
      select count(*) as n, array_agg(id) as ids, string_agg(${lineOf('batch')}, E'\\n') as lines,
        min(created_at) as oldest_at, coalesce(bool_or(trace is not null), false) as traced
      from batch
    ), leader as (
      update relay_lease set pos = pos + counted.n, expires_at = now_ms() + ${leaseMs}, low_id = $5, low_pos = $6
      from counted
      where relay_lease.ctid = $7::tid and token = $1 and (counted.n > 0 or $8)
      returning pos, relay_lease.ctid, pg_current_xact_id() as xid
    ), logged as (
      insert into event_positions (last_pos, outbox_ids, created_at)
      select leader.pos, counted.ids, now_ms() from leader, counted where counted.n > 0
    )
    select ids, lines, oldest_at as "oldestAt", traced, leader.pos, leader.ctid::text, leader.xid::text::bigint as xid,
      pg_snapshot_xmin(pg_current_snapshot())::text::bigint as xmin
    from counted left join leader on true`,
}

/** @throws when PostgreSQL fails or does not answer within 10 s. It is unknown then whether the step took place. */
export async function takeStep(client: Client, term: Term, progress: Progress, renew: boolean): Promise<Step> {
  const { high, holes, low } = progress
  const query = {
    ...stepStatement,
    values: [
      term.token,
      high,
      holes.map(({ first }) => first),
      holes.map(({ last }) => last),
      low.id,
      low.pos,
      term.ctid,
      renew,
    ],
    query_timeout: 10_000,
  }
  const { rows } = await client.query<StepRow>(query)
  const row = rows[0]!
  return { ...row, ids: row.ids ?? [], lines: row.lines ?? '' }
}

type StepRow = Omit<Step, 'ids' | 'lines'> & { ids: number[] | null; lines: string | null }
