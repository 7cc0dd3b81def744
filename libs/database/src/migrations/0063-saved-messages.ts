import { type Kysely, sql } from 'kysely'

/** The messages that a person has saved, in the order of their ids, which is the order of their times. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create table saved_messages (
         user_id uuid not null,
         message_id uuid not null,
         primary key (user_id, message_id)
       )`,
    )
    .execute(db)
}
