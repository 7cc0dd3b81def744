import { setTimeout as delay } from 'node:timers/promises'
import type { Stores } from './stores.ts'

const segmentSize = 32_768

/**
 * Writes messages in several scripts, with words as frequent as in a natural language (Zipf), directly into the tables,
 * exactly as Parley would. Through the API and the worker that would take an hour.
 */
export async function fillWithMessages({ database: { pool } }: Stores, messages: number): Promise<void> {
  const { rows } = await pool.query<{ stored: number; found: number }>(
    'select (select count(*)::int from messages) as stored, (select count(*)::int from message_search) as found',
  )
  const { stored, found } = rows[0]!
  if (found >= messages) return
  if (stored > 0) throw new Error('A database is kept here that was never filled to its end: use another --data')
  const client = await pool.connect()
  try {
    await client.query(
      `set statement_timeout = 0; set work_mem = '256MB'; set maintenance_work_mem = '512MB'; set jit = off`,
    )
    for (const statement of statements(messages)) await client.query(statement)
  } finally {
    client.release(true)
  }
}

/**
 * Waits until a running Parley has indexed every message, including those that an earlier run has left without an
 * index.
 */
export async function untilProjected({ database: { pool } }: Stores): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ behind: boolean }>(
      `select p.pos < l.pos or p.seen_id < l.low_id or p.unread_below is not null as behind
       from search_progress p, relay_lease l`,
    )
    if (!rows[0]!.behind) return
    await delay(1_000)
  }
}

const statements = (messages: number) => [
  `create temp table words as select n, case
     when n = 1 then 'the'
     when n % 10 < 6 then translate(to_char(abs(hashint4(n)) % 100000000, 'FM999999999'), '0123456789', 'etaoinshrd')
     when n % 10 < 8 then chr(19968 + abs(hashint4(n)) % 3000) || chr(19968 + abs(hashint4(-n)) % 3000)
     when n % 10 < 9 then chr(12354 + abs(hashint4(n)) % 80) || chr(12354 + abs(hashint4(-n)) % 80) || chr(12354 + abs(hashint4(n + 7)) % 80)
     else translate(to_char(abs(hashint4(n)) % 100000000, 'FM999999999'), '0123456789', 'оеаинтсрвл') end as word
   from generate_series(1, 30000) n`,
  `create temp table said as
   select x.n, string_agg(word, ' ') || case when x.n % 100003 = 5 then ' needle 東雲' else '' end as content
   from (select n, floor(exp(random() * ln(30000)))::int as place
         from generate_series(1, ${messages}) n, generate_series(1, 3 + n::bigint * 7919 % 18)) x
   join words on words.n = x.place group by x.n`,
  `create temp table places as select id, row_number() over () as n from channels where kind = 'public'`,
  `create temp table authors as select id, row_number() over () as n from users`,
  `insert into messages (id, channel_id, seq, author_id, content, created_at)
   select uuidv7(), p.id, s.n, a.id, s.content, 1700000000000 + s.n::bigint * 1000
   from said s join places p on p.n = 1 + s.n % (select count(*) from places)
   join authors a on a.n = 1 + s.n * 7 % (select count(*) from authors) order by s.n`,
  `update channels c set last_seq = m.top from (select channel_id, max(seq) as top from messages group by channel_id) m where m.channel_id = c.id`,
  'drop index message_search_grams',
  'truncate search_segments',
  `insert into search_segments
   select n, case n when 1 then 0 else 1700000000000 + (n - 1)::bigint * ${segmentSize} * 1000 end,
     1700000000000 + (n - 1)::bigint * ${segmentSize} * 1000, 1700000000000 + n::bigint * ${segmentSize} * 1000 - 1, ${segmentSize}
   from generate_series(1, ${Math.ceil(messages / segmentSize) + 1}) n`,
  `insert into message_search
   select id, channel_id, author_id, created_at, 1 + (created_at - 1700000000000) / (${segmentSize} * 1000), lower(content)
   from messages order by created_at`,
  `create index message_search_grams on message_search using gin (search_grams(segment, folded))
   with (fastupdate = on, gin_pending_list_limit = 16384)`,
  'update search_progress set unread_below = null',
  'vacuum analyze',
]
