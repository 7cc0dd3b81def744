import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { deliveryEnvironment, eventually, say } from './delivery.testing.ts'

const { held, relay, feed, says, positioned, lease, onEnd } = deliveryEnvironment()

const idsInOutbox = async () => {
  const { rows } = await held.database.pool.query<{ id: number }>('select id from outbox order by id')
  return rows.map(({ id }) => id)
}

/** A transaction that has recorded one event, and stays open until the test ends it. */
async function openTransaction(name: string) {
  const end = Promise.withResolvers<void>()
  const recorded = Promise.withResolvers<void>()
  const done = held.database.db.transaction().execute(async (trx) => {
    await say(trx, name)
    recorded.resolve()
    await end.promise
  })
  await recorded.promise
  return {
    async commit() {
      end.resolve()
      await done
    },
    async rollback() {
      end.reject(new Error('rolled back'))
      await done.catch(() => {})
    },
  }
}

describe('positions', () => {
  test('skip ids that were rolled back', async () => {
    relay()
    const listener = await feed()
    const lost = await openTransaction('lost')
    await says('kept')
    await lost.rollback()
    await says('kept too')

    await eventually(() => expect(listener.names()).toEqual(['kept', 'kept too']))
    const ids = await positioned()
    expect(ids[1]! - ids[0]!).toBe(1)
    await eventually(async () => expect(await lease()).toMatchObject({ low_id: ids[1], low_pos: 2 }))
  })

  test('are assigned later to a transaction that commits late, which is never skipped', async () => {
    relay()
    const listener = await feed()
    const late = await openTransaction('late')
    await says('early')
    await eventually(() => expect(listener.names()).toEqual(['early']))
    const before = await lease()

    await says('between')
    await eventually(() => expect(listener.names()).toEqual(['early', 'between']))
    expect((await lease()).low_id).toBe(before.low_id)

    await late.commit()
    await eventually(() => expect(listener.names()).toEqual(['early', 'between', 'late']))
    const ids = await positioned()
    expect(ids[2]).toBeLessThan(ids[0]!)
    await eventually(async () => expect((await lease()).low_id).toBe(Math.max(...ids)))
  })

  test('settle while a long snapshot is open', async () => {
    const reader = await held.database.pool.connect()
    onEnd(async () => {
      await reader.query('rollback')
      reader.release()
    })
    await reader.query('begin isolation level repeatable read read only')
    await reader.query('select count(*) from outbox')
    relay()
    await says('one', 'two')
    await eventually(async () => expect(await lease()).toMatchObject({ pos: 2, low_pos: 2 }))
  })

  test('have no gap and no double under many recorders with random delays and rollbacks', async () => {
    relay()
    const listener = await feed()
    const kept = new Set<string>()
    await Promise.all(
      Array.from({ length: 12 }, async (_, recorder) => {
        for (let round = 0; round < 25; round++) {
          const names = Array.from({ length: randomInt(1, 4) }, (_, n) => `${recorder}/${round}/${n}`)
          const isLost = randomInt(4) === 0
          await held.database.db
            .transaction()
            .execute(async (trx) => {
              for (const name of names) {
                await say(trx, name)
                await delay(randomInt(6))
              }
              if (isLost) throw new Error('rolled back')
            })
            .then(
              () => names.map((name) => kept.add(name)),
              () => {},
            )
        }
      }),
    )

    await eventually(() => expect(listener.events).toHaveLength(kept.size))
    expect(new Set(listener.names())).toEqual(kept)
    expect(listener.events.map(({ pos }) => pos)).toEqual(Array.from({ length: kept.size }, (_, n) => n + 1))
    expect((await positioned()).toSorted((a, b) => a - b)).toEqual(await idsInOutbox())
    await eventually(async () => expect((await lease()).low_pos).toBe(kept.size))
  })

  test('follow the order of commits within one row lock', async () => {
    relay()
    const listener = await feed()
    const { pool } = held.database
    await pool.query(`create table if not exists counters (name text primary key, seq int)`)
    await pool.query(`insert into counters values ('channel', 0) on conflict (name) do update set seq = 0`)
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let round = 0; round < 20; round++) {
          await held.database.db.transaction().execute(async (trx) => {
            const { rows } = await sql<{ seq: number }>`update counters set seq = seq + 1 returning seq`.execute(trx)
            await say(trx, String(rows[0]!.seq))
          })
        }
      }),
    )
    await eventually(() => expect(listener.events).toHaveLength(160))
    expect(listener.names().map(Number)).toEqual(Array.from({ length: 160 }, (_, n) => n + 1))
  })
})

describe('the lease', () => {
  test('goes to the next candidate although the clock was set back after a dead leader took it', async () => {
    await held.database.pool.query(`update relay_lease set holder = 'dead', expires_at = now_ms() + 3600000`)
    const candidate = relay()
    await eventually(() => expect(candidate.isLeader).toBe(true))
  })

  test('is held by one candidate, and goes to the other at once when it is given back', async () => {
    const first = relay()
    await eventually(() => expect(first.isLeader).toBe(true))
    const second = relay()
    const { token } = await lease()
    await first.stop()
    await eventually(() => expect(second.isLeader).toBe(true))
    expect((await lease()).token).toBe(token + 1)
    expect(first.isLeader).toBe(false)
  })

  test('of a paused leader has no effect: two relays never give one position twice', async () => {
    const paused = relay()
    const listener = await feed()
    await says('before')
    await eventually(() => expect(listener.names()).toEqual(['before']))

    // The leader's next step hangs before it reaches the lease, for longer than the lease lasts.
    const blocker = await held.database.pool.connect()
    await blocker.query('begin')
    await blocker.query('lock table outbox in access exclusive mode')
    await eventually(async () => expect(await blockedSteps()).toBe(1))
    const other = relay()
    await eventually(async () => expect(await blockedSteps()).toBe(2))
    expect(other.isLeader).toBe(true)
    await blocker.query('rollback')
    blocker.release()

    await says('after')
    await eventually(() => expect(listener.names()).toEqual(['before', 'after']))
    await eventually(() => expect(paused.isLeader).toBe(false))
    expect(await positioned()).toEqual(await idsInOutbox())
  })

  test('taken over while the leader waits for its row makes the leader step down without a write', async () => {
    const first = relay()
    await eventually(() => expect(first.isLeader).toBe(true))
    // Somebody else takes over in a transaction that commits while the leader's step waits for the row.
    const taker = await held.database.pool.connect()
    await taker.query('begin')
    await taker.query(`update relay_lease set token = token + 1, holder = 'somebody', expires_at = now_ms() + 60000`)
    await says('waits')
    await eventually(async () => expect(await blockedSteps()).toBe(1))
    await taker.query('commit')
    taker.release()

    await eventually(() => expect(first.isLeader).toBe(false))
    expect(await positioned()).toEqual([])
    expect(await lease()).toMatchObject({ holder: 'somebody', pos: 0 })
  })
})

/** Relay steps that wait for a lock. */
async function blockedSteps(): Promise<number> {
  const { rows } = await held.database.pool.query<{ pid: number }>(
    `select pid from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and query like '%update relay_lease set pos%'`,
  )
  return rows.length
}

describe('PostgreSQL that was promoted or restored', () => {
  const setHistory = (history: string | null) =>
    held.database.pool.query('update relay_lease set history = $1', [history])

  test('begins a new epoch with the next leader, once, and listeners start again; the same PostgreSQL does not', async () => {
    await setHistory(null)
    const first = relay()
    const listener = await feed()
    await says('before')
    await eventually(() => expect(listener.names()).toEqual(['before']))
    const { epoch } = await lease()
    await first.stop()
    const second = relay()
    await says('same')
    await eventually(() => expect(listener.names()).toEqual(['before', 'same']))
    expect((await lease()).epoch).toBe(epoch)
    await second.stop()

    for (const history of ['1/00000001', `${(await ownHistory()).split('/')[0]}/00000007`]) {
      await setHistory(history)
      const old = await lease()
      const third = relay()
      await eventually(async () => expect((await lease()).epoch).not.toBe(old.epoch))
      await third.stop()
    }
    const changed = await lease()
    relay()
    await eventually(() => expect(listener.epoch).toBe(changed.epoch))
    expect(listener.resets).toContain('another epoch has begun')
    await says('after')
    await eventually(() => expect(listener.names()).toEqual(['before', 'same', 'after']))
    expect((await lease()).epoch).toBe(changed.epoch)
  })

  const ownHistory = async () =>
    (await held.database.pool.query('select database_history() as history')).rows[0].history as string

  test('is recognised by any role', async () => {
    expect(await ownHistory()).toMatch(/^\d+\/[0-9A-F]{8}$/)
    const client = await held.database.pool.connect()
    await client.query('begin; create role nobody_special; set local role nobody_special')
    const { rows } = await client.query('select database_history() as history')
    expect(rows[0].history).toMatch(/^\d+\/[0-9A-F]{8}$/)
    await client.query('rollback')
    client.release()
  })
})
