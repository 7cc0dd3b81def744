import { audienceOf } from '@parley/contract'
import { createSharedCallers } from '@parley/identity'
import { enterStreams, findPresenceChanges } from '@parley/presence'
import { everyStatistics, largeDatabase, rowId, sqlRowId } from '@parley/test'
import { describe, expect, test } from 'vitest'
import { createKnownChannels } from './streams/known-channels.ts'

const many = 5_000

/**
 * Each person has a session, their own private channel and a presence. Triggers are disabled, because one of them would
 * write each channel again.
 */
const fill = (pool: ReturnType<typeof largeDatabase>['pool']) =>
  pool.query(`
    set local session_replication_role = replica;
    insert into users (id, user_name, user_name_key, email, created_at)
    select ${sqlRowId(1)}, 'user ' || n, 'user ' || n, n || '@example.com', 1 from generate_series(1, ${many}) n;
    insert into sessions (id, user_id, created_at, last_used_at, expires_at, ended_at)
    select ${sqlRowId(2)}, ${sqlRowId(1)}, 1, 1, 10000000000000, case when n % 2 = 0 then 1 end from generate_series(1, ${many}) n;
    insert into channels (id, kind, name, name_key, created_at)
    select ${sqlRowId(3)}, 'private', 'channel ' || n, 'channel ' || n, 1 from generate_series(1, ${many}) n;
    insert into channel_members select ${sqlRowId(3)}, ${sqlRowId(1)}, 1 from generate_series(1, ${many}) n;
    insert into presence (user_id, shown, last_seen, changed_by)
    select ${sqlRowId(1)}, 'online', 1, '3'::xid8 from generate_series(1, ${many}) n`)

describe.each(everyStatistics)('with %s', (statistics) => {
  const database = largeDatabase(fill, {
    statistics,
    async whileEmpty() {
      for (const [, work] of works) await work()
      // Emptied by `delete`, because `truncate` would discard the plans.
      await database.pool.query('delete from presence; delete from presence_nodes')
    },
  })

  const works: [string, () => Promise<unknown>, number][] = [
    ['who may read ten channels', readTenChannels, 60],
    ['the channels of ten people', followTen, 60],
    ['who ten are that open streams', findTenCallers, 60],
    ['the streams of ten people', enterTen, 60],
    [
      'whose presence has changed lately',
      async () => findPresenceChanges(database.pool, (await findPresenceChanges(database.pool, undefined)).next),
      60,
    ],
  ]

  test.each(works)('reading %s costs a few rows per result', async (_what, work, most) => {
    for (let n = 0; n < 8; n++) await work()
    expect(await database.read(work)).toBeLessThanOrEqual(most)
  })

  function readTenChannels() {
    const channels = createKnownChannels({ db: database.db })
    const events = ten((n) => ({ routing: audienceOf({ id: rowId(3, 2 * n + 1), membersVersion: 1 }) }))
    return channels.load(events)
  }

  function followTen() {
    const channels = createKnownChannels({ db: database.db })
    return Promise.all(ten((n) => channels.follow(rowId(1, 2 * n + 1))))
  }

  function findTenCallers() {
    const callers = createSharedCallers(database.db, () => 1_000)
    const claims = ten((n) => ({
      userId: rowId(1, 2 * n + 1),
      sessionId: rowId(2, 2 * n + 1),
      expiresAt: 10_000_000_000,
    }))
    return Promise.allSettled(claims.map((claim) => callers.find(claim)))
  }

  function enterTen() {
    const claims = ten((n) => ({ userId: rowId(1, n + 1), open: 1, asked: 0 }))
    return enterStreams(database.pool, 'node', claims, { maxStreams: 10, graceMs: 1_000 })
  }
})

const ten = <Item>(make: (n: number) => Item): Item[] => Array.from({ length: 10 }, (_, n) => make(n))
