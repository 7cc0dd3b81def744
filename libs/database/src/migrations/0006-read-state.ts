import { type Kysely, sql } from 'kysely'

/**
 * How far people have read. What is unread is the distance to the channel's `last_seq`, so only what must not be counted
 * (deleted messages) and what is counted apart (mentions) has to be found: a small index each. One's own messages are read
 * too, but sending writes nothing for it: `read_folds` says up to where a channel's authors were entered here since, and
 * whoever asks looks through the messages behind that. An index of authors instead would cost each send a sixth more.
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
