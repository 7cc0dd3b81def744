import { type Kysely, sql } from 'kysely'

/**
 * Webhooks, each bound to one channel, and the messages they post. Only the digest of a token is stored. A deleted webhook
 * keeps its row, because it is the author of its messages. `messages.webhook_id` has no foreign key, like the other columns.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table webhooks (
     id uuid primary key,
     name text not null,
     channel_id uuid not null references channels,
     token_hash bytea not null,
     created_by uuid not null,
     created_at bigint not null,
     last_posted_at bigint,
     deleted_at bigint
   ) with (fillfactor = 70)`,
  'create index webhooks_of_channel on webhooks (channel_id)',
  'alter table messages add column webhook_id uuid',
  'create index channels_deleted on channels (deleted_at) where deleted_at is not null',
]
