import type { Kysely } from 'kysely'

/** The channels of which people want a notification of every message. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('channel_preferences')
    .addColumn('notifies_of_all', 'boolean', (column) => column.notNull().defaultTo(false))
    .execute()
}
