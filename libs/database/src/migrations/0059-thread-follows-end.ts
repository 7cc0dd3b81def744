import { type Kysely, sql } from 'kysely'

/**
 * Whoever deletes a thread deletes its followers with it, the previous version too. This needs a short lock of `threads`, so it is a
 * migration of its own. Rows of threads that were deleted since 0058 began may stay. They have no unread replies, and are never listed.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table thread_follows add constraint thread_follows_thread
      foreign key (message_id) references threads on delete cascade not valid`.execute(db)
}
