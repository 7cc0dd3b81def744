import { readChanges } from '@parley/search'
import { everyStatistics, largeDatabase } from '@parley/test'
import { describe, expect, test } from 'vitest'
import { findWindowFloor, purgePositions, rotateOutbox } from './housekeeping.ts'
import { findOldestPosition, readBatches, readNewestPosition } from './positions.queries.ts'
import { acquireLease } from './relay.queries.ts'

const events = 40_000
const batch = 20
const hourMs = 3_600_000
const windows = { window: hourMs, keep: 24 * hourMs }

const fill = (pool: ReturnType<typeof largeDatabase>['pool']) =>
  pool.query(`
    insert into outbox (id, slot, routing, event, created_at)
    select n, 0, '{"to":"everyone"}',
      '{"type":"NEW_MESSAGE","payload":{"id":"' || uuidv7() || '","content":"message ' || n || '"}}', now_ms()
    from generate_series(1, ${events}) n;
    insert into event_positions (last_pos, outbox_ids, created_at)
    select n * ${batch}, array(select generate_series((n - 1) * ${batch} + 1, n * ${batch})), now_ms()
    from generate_series(1, ${events / batch}) n;
    update relay_lease set pos = ${events}, low_id = ${events}, low_pos = ${events};
    update search_progress set unread_below = null`)

describe.each(everyStatistics)('with %s', (statistics) => {
  const database = largeDatabase(fill, {
    statistics,
    async whileEmpty() {
      for (const [, work] of works) await work()
    },
  })

  // Rows and index entries: an event is looked up in each generation of the outbox and found in one.
  const works: [string, () => Promise<unknown>, number][] = [
    ['a batch from the middle', () => readBatches(database.pool, events / 2, 1), 3 * batch],
    ['2,000 events from the middle', () => readBatches(database.pool, events / 2, 2_000), 3 * 2_000],
    ['the oldest event that is kept', () => findOldestPosition(database.pool, 0), 3 * batch],
    ['the last position', () => readNewestPosition(database.pool), 2],
    ['what the next 500 events changed', () => readChanges(database.db, events / 2, 500), 3 * 500],
    ['taking the lease', () => acquireLease(database.pool, 'somebody'), 10],
    ['where the replay window begins', () => findWindowFloor(database.pool, 1), 5],
    ['positions to forget', () => purgePositions(database.pool, windows), 5],
    ['a generation of the outbox to empty', () => rotateOutbox(database.pool, { id: 0, pos: 0 }, windows), 5],
  ]

  test.each(works)('reading %s costs a few rows per result', async (_what, work, most) => {
    for (let n = 0; n < 8; n++) await work()
    expect(await database.read(work)).toBeLessThanOrEqual(most)
  })

  test('the measured statements find what they should', async () => {
    const batches = await readBatches(database.pool, events / 2, 2_000)
    expect(batches).toHaveLength(2_000 / batch)
    expect(batches[0]).toMatchObject({ first: events / 2 + 1, count: batch })
    expect(await findOldestPosition(database.pool, 0)).toBe(1)
    expect(await readChanges(database.db, events / 2, 500)).toMatchObject({ pos: events / 2 + 500, count: 500 })
  })
})
