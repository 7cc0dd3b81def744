import { describe, expect, test } from 'vitest'
import { deliveryEnvironment, eventually } from './delivery.testing.ts'
import { findRotationOverdue, findWindowFloor, purgePositions, rotateOutbox } from './housekeeping.ts'

const { held, relay, feed, says, stepWithoutAppend, lease, positioned } = deliveryEnvironment()

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const windows = { window: hourMs, keep: dayMs }

const ring = async () => (await held.database.pool.query('select slot from outbox_ring')).rows[0].slot as number
const fill = (slot: number) => held.database.pool.query('update outbox_ring set slot = $1', [slot])
const age = () => held.database.pool.query('update outbox_ring set rotated_at = now_ms() - $1', [hourMs + 1])
const rowsIn = async (slot: number) =>
  (await held.database.pool.query(`select id from outbox_${slot}`)).rows.map(({ id }) => id as number)

describe('the oldest generation of the outbox', () => {
  test('is emptied and written again once it is settled and the window has passed', async () => {
    await fill(1)
    await says('old')
    await fill(0)
    await says('new')
    const [oldId] = await rowsIn(1)

    expect(await rotateOutbox(held.database.as('worker').pool, { id: oldId!, pos: 1 }, windows)).toBe(false)
    await age()
    expect(await rotateOutbox(held.database.as('worker').pool, { id: oldId!, pos: 1 }, windows)).toBe(true)
    expect(await ring()).toBe(1)
    expect([await rowsIn(0), await rowsIn(1)]).toEqual([[oldId! + 1], []])
    await says('next')
    expect(await rowsIn(1)).toHaveLength(1)
  })

  test('is kept while a row in it may still lack its position', async () => {
    await fill(1)
    await says('settled', 'not settled')
    await fill(0)
    await age()
    const [settled] = await rowsIn(1)
    expect(await rotateOutbox(held.database.as('worker').pool, { id: settled!, pos: 1 }, windows)).toBe(false)
    expect([await ring(), (await rowsIn(1)).length]).toEqual([0, 2])
  })

  test('is kept while a transaction is writing to it', async () => {
    await fill(1)
    const writer = await held.database.pool.connect()
    await writer.query('begin')
    await writer.query('insert into outbox (id, slot, routing, created_at) values (-1, 1, $1, 0)', ['{}'])
    await fill(0)
    await age()
    expect(await rotateOutbox(held.database.as('worker').pool, { id: 1e9, pos: 1 }, windows)).toBe(false)
    expect(
      await findRotationOverdue(held.database.as('worker').pool, { ...windows, window: hourMs / 2 }),
    ).toBeGreaterThan(1_800)
    await writer.query('rollback')
    writer.release()
    expect(await rotateOutbox(held.database.as('worker').pool, { id: 1e9, pos: 1 }, windows)).toBe(true)
    expect(await findRotationOverdue(held.database.as('worker').pool, { ...windows, window: hourMs / 2 })).toBe(0)
  })
})

describe('the events that a consumer has not read yet', () => {
  /** A consumer at this position, and two events. The first event is in the oldest generation, two hours ago. */
  async function consumerAt(pos: number) {
    const { pool } = held.database
    await pool.query('truncate consumers')
    await pool.query(
      `insert into consumers select gen_random_uuid(), 'reader', epoch, $1, 1, 1, null from relay_lease`,
      [pos],
    )
    await fill(1)
    await says('old')
    await stepWithoutAppend()
    await pool.query('update event_positions set created_at = now_ms() - $1', [2 * hourMs + 1])
    await fill(0)
    await says('new')
    await stepWithoutAppend()
    await age()
    await pool.query('update relay_lease set low_pos = 2')
    const tidy = async () => ({
      isOverdue: (await findRotationOverdue(held.database.as('worker').pool, { ...windows, window: hourMs / 2 })) > 0,
      purged: await purgePositions(held.database.as('worker').pool, windows),
      rotated: await rotateOutbox(held.database.as('worker').pool, { id: 1e9, pos: 2 }, windows),
    })
    return { tidy, pool }
  }

  test('are kept beyond the window, and deleted after they were read', async () => {
    const { tidy, pool } = await consumerAt(0)
    expect(await tidy()).toEqual({ isOverdue: false, purged: 0, rotated: false })
    await pool.query('update consumers set pos = 1')
    expect(await tidy()).toEqual({ isOverdue: true, purged: 1, rotated: true })
  })

  test('are kept for the configured number of days and no longer', async () => {
    const { tidy, pool } = await consumerAt(0)
    await pool.query('update event_positions set created_at = now_ms() - $1 where last_pos = 1', [dayMs + 1])
    expect(await tidy()).toEqual({ isOverdue: true, purged: 1, rotated: true })
  })

  test('are not kept when a new order of events has begun', async () => {
    const { tidy, pool } = await consumerAt(0)
    await pool.query(`update consumers set epoch = 'another'`)
    expect(await tidy()).toMatchObject({ rotated: true })
  })
})

describe('old positions', () => {
  test('are deleted after two windows, except those that the next leader needs', async () => {
    for (const name of ['one', 'two', 'three']) {
      await says(name)
      await stepWithoutAppend()
    }
    const { pool } = held.database
    await pool.query('update event_positions set created_at = now_ms() - $1 where last_pos < 3', [2 * hourMs + 1])
    // The next leader reads the positions beyond `low_pos` of the lease, so they stay.
    expect(await purgePositions(pool, windows)).toBe(0)
    await pool.query('update relay_lease set low_pos = 1')
    expect(await purgePositions(pool, windows)).toBe(1)
    const { rows } = await pool.query('select last_pos from event_positions order by last_pos')
    expect(rows).toEqual([{ last_pos: 2 }, { last_pos: 3 }])
  })

  test('show how far back the replay window reaches', async () => {
    await says('one')
    await stepWithoutAppend()
    await says('two')
    await stepWithoutAppend()
    expect(await findWindowFloor(held.database.as('worker').pool, 3_600)).toBe(0)
    await held.database.pool.query('update event_positions set created_at = 0 where last_pos = 1')
    expect(await findWindowFloor(held.database.as('worker').pool, 3_600)).toBe(1)
  })

  test('continue after the whole outbox was emptied', async () => {
    relay()
    const listener = await feed()
    await says('one')
    await eventually(async () => expect(await lease()).toMatchObject({ low_pos: 1 }))
    await age()
    const { low_id, low_pos } = await lease()
    for (let turn = 0; turn < 3; turn++) {
      await age()
      expect(await rotateOutbox(held.database.as('worker').pool, { id: low_id, pos: low_pos }, windows)).toBe(true)
    }
    await says('two')
    await eventually(() => expect(listener.names()).toEqual(['one', 'two']))
    expect(await positioned()).toHaveLength(2)
  })
})
