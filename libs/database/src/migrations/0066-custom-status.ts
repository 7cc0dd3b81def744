import { type Kysely, sql } from 'kysely'

/** The custom status of people, and the index for those that expire. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `alter table users
     add column status_text text,
     add column status_emoji text,
     add column status_expires_at bigint`,
  `create index users_status_expiring on users (status_expires_at)
   where status_expires_at is not null and removed_at is null`,
]
