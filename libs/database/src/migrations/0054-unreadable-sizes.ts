import { type Kysely, sql } from 'kysely'

/**
 * The worker reads the sizes of images that were stored without one: those from before 0026, and those that the version before
 * stores. `size_unreadable` says that it has tried, and that the image does not tell.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'alter table uploads add column size_unreadable boolean not null default false',
  `create index uploads_without_size on uploads (filename)
     where kind = 'image' and width is null and stored_at is not null and not size_unreadable`,
]
