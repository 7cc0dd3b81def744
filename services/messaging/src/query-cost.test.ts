import { accessMessage } from '@parley/access'
import { uuidv7 } from '@parley/database'
import { findMessage } from '@parley/messages'
import { foldEvery, readStateOf } from '@parley/read-states'
import { callerOf, largeDatabase } from '@parley/test'
import { expect, test } from 'vitest'
import { findConversation, listConversations } from './conversations/conversations.queries.ts'
import { findCursor, listOlder, readPage } from './messages/message-pages.queries.ts'
import { listPinned } from './pins/pins.routes.ts'

/**
 * So many messages that a plan that reads all of them is noticed. Most of them are in one channel, the others in two
 * hundred.
 */
const large = 100_000
const small = 300
const channels = 200
const unread = 40

const [busy, parent, reader, other] = [uuidv7(), uuidv7(), uuidv7(), uuidv7()]
const conversation = uuidv7()

const database = largeDatabase(async (pool) => {
  await pool.query(
    `insert into users (id, user_name, user_name_key, email, created_at)
     select id, id, id, id, 1 from unnest($1::uuid[]) id`,
    [[reader, other]],
  )
  await pool.query(
    `insert into channels (id, kind, name, name_key, created_at, last_seq)
     select gen_random_uuid(), 'public', n::text, n::text, 1, ${small} from generate_series(1, ${channels}) n
     union all select $1::uuid, 'public', 'busy', 'busy', 1, ${large}`,
    [busy],
  )
  await pool.query(
    `insert into channels (id, kind, name, name_key, created_at, last_seq, direct_key) values ($1, 'direct', '', '', 1, 0, '')`,
    [conversation],
  )
  await pool.query('insert into channel_members values ($1, $2, 1), ($1, $3, 1)', [conversation, reader, other])
  // One in a hundred is deleted, and one in fifty mentions everybody. Inserted in portions, because of the time limit
  // of statements.
  for (let portion = 0; portion < 4; portion++) {
    await pool.query(
      `insert into messages (id, channel_id, seq, author_id, content, mentions, created_at, deleted_at)
       select gen_random_uuid(), c.id, n, $1, 'message ' || n, case when n % 50 = 0 then array['@channel'] end, n,
         case when n % 100 = 1 then n end
       from channels c, generate_series(1, c.last_seq) n where n / 50 % 4 = $2`,
      [other, portion],
    )
  }
  await pool.query('update messages set id = $1 where channel_id = $2 and seq = $3', [parent, busy, large / 2])
  await pool.query('update messages set pinned_at = seq where channel_id = $1 and seq % $2 = 0', [busy, large / 20])
  await pool.query(
    `insert into messages (id, channel_id, thread_id, seq, author_id, content, created_at)
     select gen_random_uuid(), $1, $2, n, $3, 'reply ' || n, n from generate_series(1, 5000) n`,
    [busy, parent, other],
  )
  await pool.query('insert into read_states select $1, id, last_seq - $2 from channels where last_seq > 0', [
    reader,
    unread,
  ])
  await pool.query('insert into read_folds select id, last_seq / $1 * $1 from channels where last_seq > 0', [foldEvery])
})

const middle = (limit: number) => ({ limit, aroundSeq: large / 2 })

/** The number of rows of `messages` that the work reads, with any access method. */
async function rowsRead(work: () => Promise<unknown>): Promise<number> {
  const fetched = "select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relname = 'messages'"
  return (await database.growth({ fetched }, work)).fetched
}

test.each<[string, () => Promise<unknown>, number]>([
  ['the newest page of a channel', () => readPage(database.db, { channelId: busy }, { limit: 50 }), 60],
  ['a page around its middle', () => readPage(database.db, { channelId: busy }, middle(50)), 110],
  [
    'a page after its first message',
    () => readPage(database.db, { channelId: busy }, { limit: 50, after: parent }),
    60,
  ],
  [
    'a page before its first message',
    () => readPage(database.db, { channelId: busy }, { limit: 50, before: parent }),
    60,
  ],
  ['where a page goes on', () => findCursor(database.db, { channelId: busy }, parent, 'before'), 1],
  ['one message', () => findMessage(database.db, parent), 1],
  ['access to one', () => accessMessage(database.db, caller(), parent), 2],
  [
    'the newest replies of a long thread',
    () => readPage(database.db, { channelId: busy, threadId: parent }, { limit: 50 }),
    60,
  ],
  ['what is pinned', () => listPinned(database.db, busy), 20],
  ['the conversations of somebody', () => listConversations(database.db, reader, {}), 1],
  // In each channel the unread messages are read once for their authors, with a few rows for those that are deleted or
  // mention somebody.
  ['what is unread in all channels', listUnread, (channels + 1) * (unread + 5)],
])('%s costs as many rows as it has', async (_what, work, most) => {
  // From the sixth run on PostgreSQL may use a generic plan for a prepared statement.
  for (let n = 0; n < 8; n++) await work()
  expect(await rowsRead(work)).toBeLessThanOrEqual(most)
})

test('the conversation of two people costs as many channels as it is', async () => {
  const fetched = "select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relname = 'channels'"
  const find = () => findConversation(database.db, [reader, other])
  for (let n = 0; n < 8; n++) await find()
  expect((await database.growth({ fetched }, find)).fetched).toBeLessThanOrEqual(1)
})

test('a page is planned once, for all limits', async () => {
  const used = `select sum(custom_plans)::int as custom, sum(generic_plans)::int as kept
    from pg_prepared_statements where statement like '%"page"%'`
  const uses = async () => (await database.pool.query<{ custom: number; kept: number }>(used)).rows[0]!
  // PostgreSQL makes five custom plans before it chooses a generic one.
  for (let n = 0; n < 5; n++) await readPage(database.db, { channelId: busy }, { limit: 50 })
  const before = await uses()
  for (const limit of [1, 50, 200]) await listOlder(database.db, { channelId: busy }, large / 2, limit)
  expect(await uses()).toEqual({ custom: before.custom, kept: before.kept + 3 })
})

test('the count of rows shows a scan', async () => {
  expect(await rowsRead(() => database.pool.query('select sum(rev) from messages'))).toBeGreaterThan(
    large + channels * small,
  )
})

test('the unread counts are right in all of them', async () => {
  const states = (await listUnread()).map(({ state }) => state)
  expect(states).toHaveLength(channels + 1)
  for (const state of states) {
    expect(state).toMatchObject({ readSeq: state.lastSeq - unread, unreadCount: unread, mentionCount: 1 })
  }
})

function listUnread() {
  return database.db
    .selectFrom('channels')
    .where('kind', '=', 'public')
    .select(readStateOf(reader).as('state'))
    .execute()
}

const caller = () => callerOf(reader)
