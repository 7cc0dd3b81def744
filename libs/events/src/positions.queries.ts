import type { Connection, Reader } from '@parley/database'
import type { Batch } from './batch.ts'
import type { Cursor } from './cursor.ts'

export type Pool = Connection['pool']
export type Client = Awaited<ReturnType<typeof connect>>

/** A connection of the pool for exclusive use until it is released. */
export const connect = (pool: Pool) => pool.connect()

/** One outbox row as a line of a batch. Line breaks are removed, because in JSON they can stand only between tokens. */
export const lineOf = (row: string) =>
  `replace(${row}.routing, E'\\n', '') || E'\\t' || coalesce(${row}.trace, '') || E'\\t' || coalesce(replace(${row}.event, E'\\n', ''), '')`

/**
 * Selects the batches up to the one that reaches the limit, by the primary key, which is possible because positions
 * have no gaps. The rows of a batch are looked up one by one: the inner limit prevents the planner from joining the
 * whole outbox, whatever the statistics say.
 */
const selectBatches = {
  name: 'parley_read_positions',
  text: `
    select chosen.last_pos, cardinality(chosen.outbox_ids) as count, found.count as found, found.lines, found.recorded_at
    from (
      select last_pos, outbox_ids from event_positions
      where last_pos > $1 and last_pos <= coalesce(
        (select last_pos from event_positions where last_pos >= $1::bigint + $2 order by last_pos limit 1), 9223372036854775807)
      order by last_pos offset 0
    ) chosen cross join lateral (
      select count(*)::int as count, string_agg(${lineOf('o')}, E'\\n' order by u.place) as lines,
        min(o.created_at) as recorded_at
      from unnest(chosen.outbox_ids) with ordinality u(id, place)
        cross join lateral (select * from outbox where outbox.id = u.id limit 1) o
    ) found
    order by chosen.last_pos`,
}

/**
 * Reads events after a position from PostgreSQL, in the batches in which they got their positions, up to the batch that
 * reaches `limit` events. Empty when there are none, 'gone' when the next event was removed.
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

/** The position of the oldest event after a position that can still be read from PostgreSQL, or undefined when there is none. */
export async function findOldestPosition(pool: Pool, after: number): Promise<number | undefined> {
  const { rows } = await pool.query<{ first: number }>(
    `select p.last_pos - cardinality(p.outbox_ids) + 1 as first
     from event_positions p where p.last_pos > $1 and not exists (
       select from unnest(p.outbox_ids) u(id)
       where not exists (select from outbox o where o.id = u.id offset 0) offset 0
     ) order by p.last_pos limit 1`,
    [after],
  )
  return rows[0]?.first
}

/** The last position that was assigned. For services, in a transaction or without one. */
export const findNewestPosition = (db: Reader): Promise<Cursor> =>
  db.selectFrom('relayLease').select(['epoch', 'pos']).executeTakeFirstOrThrow()

/** As `findNewestPosition`, for this lib, which has only the pool. */
export async function readNewestPosition(pool: Pool): Promise<Cursor> {
  const { rows } = await pool.query<Cursor>('select epoch, pos from relay_lease')
  return rows[0]!
}
