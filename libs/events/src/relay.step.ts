import { type Client, lineOf } from './positions.queries.ts'
import type { Progress } from './progress.ts'
import { leaseMs, type Term } from './relay.lease.ts'

export interface Step {
  /** Outbox ids that were given positions, ascending. */
  ids: number[]
  /** Their lines, in the same order; see `Batch`. */
  lines: string
  /** When the oldest of them was recorded, epoch milliseconds. */
  oldestAt: number | null
  traced: boolean
  /** The last position given so far; null when nothing was written, or nothing could be because the token is stale. */
  pos: number | null
  ctid: string | null
  xid: number | null
  xmin: number
}

/** Most events that one step gives positions. */
export const stepLimit = 1_000

/**
 * The relay's one statement: takes committed rows in id order, gives them gapless positions under the token, and logs them
 * as one row. The inner limit makes the planner look up each hole; joined plainly, it walks the whole outbox at each step.
 * The three aggregates are fed in the order of `batch`, so ids and lines belong together.
 */
const statement = {
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

/** @throws when PostgreSQL fails or gives no answer within 10 s; whether the step took place is unknown then. */
export async function takeStep(client: Client, term: Term, progress: Progress, renew: boolean): Promise<Step> {
  const { high, holes, low } = progress
  const query = {
    ...statement,
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
