import { type Kysely, sql } from 'kysely'

/**
 * What search reads: a folded copy of every message's text, which the worker writes by following the outbox. The send
 * statement writes nothing for it. `docs/decisions/0010-search-reads-a-projection.md` explains segments and grams.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/** A segment number and 40 bits of the gram, so that the entries of one segment are adjacent in the index. */
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

  // The runs of one, two and three characters that a text contains, as index keys of its segment. In this form it takes a third
  // of the time that window functions or a distinct take; the index drops repetitions itself.
  `create function search_grams(segment integer, folded text) returns bigint[]
   language plpgsql immutable strict parallel safe as $$
   declare
     before_last text := '';
     last text := '';
     c text;
     keys bigint[] := '{}';
   begin
     foreach c in array string_to_array(folded, null) loop
       keys := keys || (${key('segment', 'c')});
       if last <> '' then
         keys := keys || (${key('segment', 'last || c')});
         if before_last <> '' then
           keys := keys || (${key('segment', 'before_last || last || c')});
         end if;
       end if;
       before_last := last;
       last := c;
     end loop;
     return keys;
   end $$`,
  `create function search_keys(segment integer, grams text[]) returns bigint[]
   language sql immutable strict parallel safe
   return (select array_agg(${key('segment', 'gram')}) from unnest(grams) gram)`,
  // Entries are collected and merged at the end of each step of the projection: a third of the work of entering them singly, and
  // searches, which have to read through what is collected, find nothing there. Only the owner of an index may have it merged.
  `create index message_search_grams on message_search using gin (search_grams(segment, folded))
   with (fastupdate = on, gin_pending_list_limit = 16384)`,
  `create function merge_search_grams() returns void language sql security definer set search_path from current
   as $$ select gin_clean_pending_list('message_search_grams') $$`,

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
