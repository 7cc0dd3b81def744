import { uuidv7 } from '@parley/database'
import { largeDatabase } from '@parley/test'
import { expect, test } from 'vitest'
import { listMissedBy } from './missed-messages.queries.ts'
import { beforeEverybody } from './missed-messages.ts'

/** So many messages and people that a plan that reads all of them is noticed. */
const large = 100_000
const people = 5_000
const recent = 100
const [author, reader, channel, everybody] = [uuidv7(), uuidv7(), uuidv7(), uuidv7()]
const until = Date.now()

const database = largeDatabase(async (pool) => {
  await pool.query(
    `insert into users (id, user_name, user_name_key, email, created_at)
     select id, id, id, id, 1 from (
       select unnest($1::uuid[]) as id union all select gen_random_uuid() from generate_series(1, $2)) people`,
    [[author, reader], people],
  )
  await pool.query(
    `insert into channels (id, kind, name, name_key, created_at, last_seq) values ($1, 'public', 'busy', 'busy', 1, $2)`,
    [channel, large],
  )
  await pool.query(
    `insert into groups (id, handle, handle_key, handle_skeleton, name, source, created_at)
     values ($1, 'all', 'all', 'all', 'all', 'local', 1)`,
    [everybody],
  )
  await pool.query('insert into group_members select $1, id, 1 from users', [everybody])
  // The ids of one message in each second. Inserted in portions, because of the time limit of statements.
  for (let portion = 0; portion < 4; portion++) {
    await pool.query(
      `insert into messages (id, channel_id, seq, author_id, content, mentions, created_at)
       select (lpad(to_hex($1::bigint - ($2 - n + 1) * 1000), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, $3, n, $4,
         'message ' || n, case when n % 5 = 0 then array[$5::text] end, $1::bigint - ($2 - n + 1) * 1000
       from generate_series(1, $2) n where n % 4 = $6`,
      [until, large, channel, author, reader, portion],
    )
  }
})

test('the missed messages of a period cost as many rows as the period has', async () => {
  const period = { from: until - recent * 1_000, until }
  const find = () =>
    listMissedBy(database.db, { period, after: beforeEverybody, people: 200, messages: 20, now: until })
  const [found] = (await find()).missedBy
  expect(found).toMatchObject({ userId: reader, count: recent / 5 })
  const fetchedOf = (table: string) =>
    `select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relname = '${table}'`
  const growth = await database.growth({ messages: fetchedOf('messages'), users: fetchedOf('users') }, find)
  // Each of the messages, and once more for the authors of later ones.
  expect(growth.messages).toBeLessThanOrEqual(2 * recent)
  expect(growth.users).toBeLessThanOrEqual(recent)
})

test('a batch of the people of a large group costs as many rows as it has people', async () => {
  const [last] = (await database.pool.query<{ id: string }>('select id from messages order by id desc limit 1')).rows
  await database.pool.query('update messages set mentions = $1 where id = $2', [[`group:${everybody}`], last!.id])
  const period = { from: until - 1_000, until }
  const find = () =>
    listMissedBy(database.db, { period, after: beforeEverybody, people: 200, messages: 20, now: until })
  expect((await find()).missedBy.length).toBeGreaterThanOrEqual(198)
  const fetched = "select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relname = 'group_members'"
  expect((await database.growth({ fetched }, find)).fetched).toBeLessThanOrEqual(200)
})

test('many mentions of a group cost as many look-ups of channels and people as one', async () => {
  const period = { from: until - recent * 1_000, until }
  await database.pool.query('update messages set mentions = $1 where created_at >= $2', [
    [`group:${everybody}`],
    period.from,
  ])
  const find = () =>
    listMissedBy(database.db, { period, after: beforeEverybody, people: 200, messages: 20, now: until })
  expect((await find()).missedBy[0]!.count).toBe(recent)
  const fetchedOf = (table: string) =>
    `select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relname = '${table}'`
  const growth = await database.growth({ channels: fetchedOf('channels'), users: fetchedOf('users') }, find)
  // The channel of each message, and of each person.
  expect(growth.channels).toBeLessThanOrEqual(recent + 200)
  expect(growth.users).toBeLessThanOrEqual(200)
})
