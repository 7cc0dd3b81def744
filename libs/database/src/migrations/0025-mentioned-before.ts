import { type Kysely, sql } from 'kysely'

/**
 * Whom earlier texts of a message mentioned: streams of `scope=joined` get the later events of a message that has mentioned their
 * person, also when an edit took the mention away. Edits and deletions by the version before do not enter it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table messages add column mentioned_before text[]').execute(db)
}
