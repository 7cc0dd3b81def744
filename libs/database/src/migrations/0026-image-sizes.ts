import { type Kysely, sql } from 'kysely'

/**
 * The size of each uploaded image in pixels, and on a message those of its images, so that a page can keep their place. Null is
 * unknown: the image was uploaded before this migration, or its header does not say.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'alter table uploads add column width integer, add column height integer',
  'alter table messages add column image_sizes jsonb',
]
