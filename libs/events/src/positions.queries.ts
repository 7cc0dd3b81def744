import type { Connection } from '@parley/database'
import type { Batch } from './batch.format.ts'

export type Pool = Connection['pool']
export type Client = Awaited<ReturnType<typeof connect>>

/** A connection to have for oneself, until it is released. */
export const connect = (pool: Pool) => pool.connect()

/** One outbox row as a line of a batch. JSON may contain line breaks only between its tokens, where they mean nothing. */
export const lineOf = (row: string) =>
  `replace(${row}.routing, E'\\n', '') || E'\\t' || coalesce(${row}.trace, '') || E'\\t' || coalesce(replace(${row}.event, E'\\n', ''), '')`

const selectBatches = {
  name: 'parley_read_positions',
  text: `
    with near as (
      select last_pos, outbox_ids, cardinality(outbox_ids) as n
      from event_positions where last_pos > $1 order by last_pos limit $2
    ), chosen as materialized (
      select * from (select *, sum(n) over (order by last_pos) - n as before from near) counted where before < $2
    )
    select chosen.last_pos, chosen.n as count, found.count as found, found.lines,
      found.recorded_at
    from chosen cross join lateral (
      select count(*)::int as count, string_agg(${lineOf('o')}, E'\\n' order by u.place) as lines,
        min(o.created_at) as recorded_at
      from unnest(chosen.outbox_ids) with ordinality u(id, place) join outbox o on o.id = u.id
    ) found
    order by chosen.last_pos`,
}

/**
 * Events after a position as PostgreSQL keeps them, in batches as they were positioned; stops with the batch that reaches
 * `limit` events. Empty when there are none after it, 'gone' when the next one is no longer kept.
 */
export async function readBatches(pool: Pool, after: number, limit: number): Promise<Batch[] | 'gone'> {
  const { rows } = await pool.query<BatchRow>({ ...selectBatches, values: [after, limit] })
  let next = after + 1
  const batches: Batch[] = []
  for (const { last_pos, count, found, lines, recorded_at } of rows) {
    const first = last_pos - count + 1
    if (first > next || found < count) return 'gone'
    batches.push({ first, count, lines, recordedAt: recorded_at })
    next = last_pos + 1
  }
  return batches
}

interface BatchRow {
  last_pos: number
  count: number
  found: number
  lines: string
  recorded_at: number
}

/** The position of the oldest event that can still be read from PostgreSQL, or undefined when there is none. */
export async function findOldestPosition(pool: Pool): Promise<number | undefined> {
  const { rows } = await pool.query<{ first: number }>(
    `select p.last_pos - cardinality(p.outbox_ids) + 1 as first
     from event_positions p where not exists (
       select from unnest(p.outbox_ids) u(id) where not exists (select from outbox o where o.id = u.id)
     ) order by p.last_pos limit 1`,
  )
  return rows[0]?.first
}

export interface Top {
  epoch: string
  /** The last position that was given. */
  pos: number
}

export async function findTop(pool: Pool): Promise<Top> {
  const { rows } = await pool.query<Top>('select epoch, pos from relay_lease')
  return rows[0]!
}
