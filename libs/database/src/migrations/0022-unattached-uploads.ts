import { type Kysely, sql } from 'kysely'

/**
 * The size of a person's uploads that no message has, read from the index alone. Thumbnails count too, except those
 * from before this migration and those that the version before stores.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'alter table uploads add column thumbnail_size integer not null default 0',
  `create index uploads_idle_of_person on uploads (uploaded_by) include (size, thumbnail_size, created_at, stored_at)
     where idle_since is not null`,
]
