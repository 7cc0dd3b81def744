import { type Kysely, sql } from 'kysely'

/**
 * What a message that has replies says of them, kept with every reply so that listings need not count. A row of its own:
 * a reply then rewrites neither the parent's text nor costs a message without replies anything.
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
