import { type Kysely, sql } from 'kysely'

/** Marks people who registered with an address that they have not proven to be theirs. Existing people are trusted. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table users add column email_unproven boolean not null default false').execute(db)
}
