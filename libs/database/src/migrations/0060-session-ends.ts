import { type Kysely, sql } from 'kysely'

/** `ends_by` is the time when the provider's session of a SAML sign-in ends. No refresh extends our session beyond it. Null is no such time. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table sessions add column ends_by bigint').execute(db)
}
