import type { Kysely } from 'kysely'

/** The language of the mails to a person. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('users').addColumn('language', 'text').execute()
}
