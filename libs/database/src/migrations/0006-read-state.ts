import { type Kysely, sql } from 'kysely'

/**
 * How far people have read. The number of unread messages is the distance to the channel's `last_seq`, without deleted
 * messages; mentions are counted separately. Each has a small index. People have read their own messages, but a send
 * writes nothing for that: `read_folds` says up to where the authors of a channel are entered here, and a query reads
 * the messages after that. An index of authors would make each send a sixth slower.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table read_states (
     user_id uuid not null,
     channel_id uuid not null,
     read_seq bigint not null,
     primary key (user_id, channel_id)
   ) with (fillfactor = 70)`,
  `create table read_folds (
     channel_id uuid primary key,
     folded_seq bigint not null
   ) with (fillfactor = 70)`,
  'create index messages_deleted on messages (channel_id, seq) where thread_id is null and deleted_at is not null',
  'create index messages_mentioning on messages (channel_id, seq) where thread_id is null and mentions is not null',
]
