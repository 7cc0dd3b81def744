import { type Kysely, sql } from 'kysely'

/** What a message shows instead of its text, and the name and icon that a webhook has chosen for it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = ['alter table messages add column blocks jsonb, add column shown_as jsonb']
