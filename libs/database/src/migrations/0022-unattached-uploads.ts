import { type Kysely, sql } from 'kysely'

/**
 * How much somebody has uploaded that no message has: the sum is read from the index alone. Thumbnails count too; those from before this
 * migration, and those that the version before stores, count as nothing.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'alter table uploads add column thumbnail_size integer not null default 0',
  `create index uploads_idle_of_person on uploads (uploaded_by) include (size, thumbnail_size, created_at, stored_at)
     where idle_since is not null`,
]
