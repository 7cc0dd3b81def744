import { uuidv7 } from '@parley/database'
import { largeDatabase } from '@parley/test'
import { expect, test } from 'vitest'
import { searchMessages } from './search.ts'
import { searchRequest } from './search-request.fixture.ts'

/** So many messages that a read of all of them, or of the whole index, is noticed. */
const messages = 60_000
const segmentSize = 4_000
const segments = messages / segmentSize

const [reader, quiet] = [uuidv7(), uuidv7()]
/** Several authors, so that a planner that samples the messages does not conclude that one person has written all. */
const authors = Array.from({ length: 20 }, uuidv7)
const [busy, small] = [uuidv7(), uuidv7()]

const database = largeDatabase(async (pool) => {
  await pool.query(
    `insert into users (id, user_name, user_name_key, email, created_at)
     select id, name, name, name, 1 from unnest($1::uuid[], $2::text[]) u (id, name)`,
    [
      [reader, quiet, ...authors],
      ['reader', 'silence', ...authors.map((_, n) => `author ${n}`)],
    ],
  )
  await pool.query(
    `insert into channels (id, kind, name, name_key, created_at, last_seq)
     values ($1::uuid, 'public', 'busy', 'busy', 1, ${messages}), ($2, 'public', 'small', 'small', 1, 10)`,
    [busy, small],
  )
  await pool.query(
    `insert into messages (id, channel_id, seq, author_id, content, created_at)
     select uuidv7(), case when n % ${messages / 10} = 0 then $2::uuid else $1 end, n,
       case n % 30000 when 0 then $4::uuid else ($3::uuid[])[1 + n % 20] end,
       'every day' || case n % 20000 when 7 then ' 東京 needle' else '' end, n
     from generate_series(1, ${messages}) n`,
    [busy, small, authors, quiet],
  )
  await pool.query('truncate search_segments')
  await pool.query(
    `insert into search_segments select n, (n - 1) * ${segmentSize}, (n - 1) * ${segmentSize}, n * ${segmentSize} - 1, ${segmentSize}
     from generate_series(1, ${segments + 1}) n`,
  )
  await pool.query(
    `insert into message_search select id, channel_id, author_id, created_at, 1 + created_at / ${segmentSize}, content from messages`,
  )
  await pool.query('select merge_search_grams()')
  await pool.query('update search_progress set unread_below = null')
})

/** The number of blocks of `message_search` and its indexes, and of rows of `messages`, that the work reads. */
const read = (work: () => Promise<unknown>) =>
  database.growth(
    {
      blocks: `select heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read
        from pg_statio_user_tables where relname = 'message_search'`,
      rows: "select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relname = 'messages'",
    },
    work,
  )

const search = (q: string, more: { channelId?: string } = {}) =>
  searchMessages(database.db, searchRequest(reader, q, more))

/**
 * The search reads the newest 2,000 messages first. In each segment it then reads a few blocks of the index for each
 * gram.
 */
const near = 350
const perGram = 8

test.each<[string, () => Promise<unknown[]>, number, number]>([
  ['a frequent word', () => search('every'), 50, near],
  ['a rare word', () => search('needle'), 3, near + segments * 4 * perGram],
  ['two characters of Japanese', () => search('東京'), 3, near + segments * perGram],
  ['what occurs nowhere', () => search('qqzxq'), 0, near + segments * 3 * perGram],
  ['two letters that occur nowhere', () => search('qz'), 0, near + segments * perGram],
  ['the name of somebody who said little', () => search('silence'), 2, near + segments * 5 * perGram],
  ['a rare word in a channel', () => search('needle', { channelId: small }), 0, 200],
])('%s costs no more than it must', async (_what, work, hits, most) => {
  expect(await work()).toHaveLength(hits)
  const { blocks, rows } = await read(work)
  expect(blocks).toBeLessThanOrEqual(most)
  expect(rows).toBeLessThanOrEqual(hits)
})

test('the count of blocks shows a scan', async () => {
  const { rows } = await database.pool.query(`select pg_relation_size('message_search') / 8192 as blocks`)
  const scan = () => database.pool.query(`select count(*) from message_search where strpos(folded, 'needle') > 0`)
  expect((await read(scan)).blocks).toBeGreaterThanOrEqual(rows[0].blocks)
})
