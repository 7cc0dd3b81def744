import { uuidv7 } from '@parley/database'
import { largeDatabase } from '@parley/test'
import { expect, test } from 'vitest'
import { searchMessages } from './search.ts'
import { searchRequest } from './search-request.fixture.ts'

const messages = 200_000
const [channel, author] = [uuidv7(), uuidv7()]

/**
 * Nothing is in the projection: the worker was stopped before the first message. One in ten messages is Cyrillic; three
 * were edited, three deleted.
 */
const database = largeDatabase(async (pool) => {
  await pool.query(
    `insert into users (id, user_name, user_name_key, email, created_at) values ($1, 'author', 'author', 'author', 1)`,
    [author],
  )
  await pool.query(
    `insert into channels (id, kind, name, name_key, created_at, last_seq) values ($1, 'public', 'busy', 'busy', 1, ${messages})`,
    [channel],
  )
  await pool.query(
    `insert into messages (id, channel_id, seq, author_id, content, created_at)
     select uuidv7(), $1, n, $2, case when n % 10 = 0 then 'Каждый день' else 'Every day' end ||
       case when n % 40000 = 7 then ' Needle' when n % 40000 = 30 then ' Иголка' else '' end, n
     from generate_series(1, ${messages}) n`,
    [channel, author],
  )
  await pool.query(`
    insert into outbox (id, slot, routing, event, created_at)
    select nextval('outbox_ids'), 0, '{"to":"everyone"}', '{"type":"NEW_MESSAGE","payload":{"id":"' || id || '","seq":' || seq ||
      ',"content":' || to_json(content) || '}}', 1
    from messages order by seq;
    update messages set content = 'Without it' where seq = 7;
    update messages set content = '', deleted_at = 1 where seq = 40007;
    insert into outbox (id, slot, routing, event, created_at)
    select nextval('outbox_ids'), 0, '{"to":"everyone"}', '{"type":"' || case seq when 7 then 'UPDATE' else 'DELETE' end ||
      '_MESSAGE","payload":{"channelId":"' || channel_id || '","id":"' || id || '"}}', 1
    from messages where seq in (7, 40007);
    update search_progress set unread_below = null`)
})

const search = async (q: string) => {
  const found = await searchMessages(database.db, searchRequest(author, q))
  return found.map(({ seq }) => seq)
}

test.each([
  ['a rare word', 'needle', [160_007, 120_007, 80_007]],
  ['a rare word of another script', 'иголка', [160_030, 120_030, 80_030, 40_030, 30]],
  ['what no message says any more', 'haystack', []],
])('%s is found while 200,000 messages wait for the projection', async (_what, q, expected) => {
  expect(await search(q)).toEqual(expected)
})

test('the text of every message is found, newest first', async () => {
  const found = await search('day')
  expect(found).toHaveLength(50)
  expect(found.slice(0, 3)).toEqual([199_999, 199_998, 199_997])
})
