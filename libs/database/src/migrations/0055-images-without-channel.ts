import { type Kysely, sql } from 'kysely'

/** An image that was uploaded through Slack's API has no channel before it is on a message. Files never have one. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'alter table uploads drop constraint uploads_check',
  // The constraint before was stricter, so there is nothing to validate.
  "alter table uploads add constraint uploads_channel check (kind = 'image' or channel_id is null) not valid",
]
