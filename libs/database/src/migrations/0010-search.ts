import { type Kysely, sql } from 'kysely'

/**
 * What search looks through: a copy of every message's text, folded, fed from the outbox by the worker. The send statement writes
 * nothing for it. `docs/decisions/0010-search-reads-a-projection.md` explains segments and grams.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/** A segment number and 40 bits that tell the gram: entries of one segment lie side by side in the index. */
const key = (segment: string, gram: string) =>
  `(${segment}::bigint << 40) | (hashtextextended(${gram}, 0) & 1099511627775)`

const statements = [
  `create table message_search (
     message_id uuid primary key,
     channel_id uuid not null,
     author_id uuid,
     created_at bigint not null,
     segment integer not null,
     folded text not null
   ) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02)`,
  'create index message_search_newest on message_search (created_at, message_id)',
  'create index message_search_of_channel on message_search (channel_id, created_at, message_id)',
  'create index message_search_of_author on message_search (author_id, created_at, message_id)',

  // The runs of one, two and three characters that a text contains, as index keys of its segment.
  `create function search_grams(segment integer, folded text) returns bigint[]
   language sql immutable strict parallel safe
   return (
     select array_agg(distinct ${key('segment', 'gram')})
     from (
       select c as one, c || lead(c, 1) over w as two, c || lead(c, 1) over w || lead(c, 2) over w as three
       from unnest(string_to_array(folded, null)) with ordinality as t (c, place)
       window w as (order by place)
     ) runs, lateral (values (one), (two), (three)) as v (gram)
     where gram is not null
   )`,
  `create function search_keys(segment integer, grams text[]) returns bigint[]
   language sql immutable strict parallel safe
   return (select array_agg(${key('segment', 'gram')}) from unnest(grams) gram)`,
  `create index message_search_grams on message_search using gin (search_grams(segment, folded)) with (fastupdate = off)`,

  // The messages since a moment, until the next segment begins; how many there are, and when the first and last was written.
  `create table search_segments (
     segment integer primary key,
     from_at bigint not null,
     first_at bigint,
     last_at bigint,
     size integer not null default 0
   ) with (fillfactor = 70)`,
  'insert into search_segments (segment, from_at) values (1, 0)',

  `create table search_progress (
     id smallint primary key default 1 check (id = 1),
     pos bigint not null default 0,
     seen_id bigint not null default 0,
     next_seen_id bigint not null default 0,
     next_pos bigint not null default 0,
     unread_below uuid
   )`,
  `insert into search_progress (pos, seen_id, next_seen_id, next_pos, unread_below)
   select pos, low_id, low_id, pos, 'ffffffff-ffff-ffff-ffff-ffffffffffff' from relay_lease`,

  `create index users_name_grams on users using gin (search_grams(0, user_name_key))`,
]
