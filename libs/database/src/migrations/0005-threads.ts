import { type Kysely, sql } from 'kysely'

/**
 * A summary of the replies to a message, updated with every reply, so that listings need not count. In its own row, so
 * a reply does not rewrite the parent's text, and a message without replies costs nothing.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create table threads (
         message_id uuid primary key,
         last_seq bigint not null,
         reply_count integer not null,
         last_reply_at bigint,
         last_reply_by uuid,
         participants uuid[] not null
       ) with (fillfactor = 70)`,
    )
    .execute(db)
}
