import { type Kysely, sql } from 'kysely'

/** Marks people who registered with an address that nobody has proven to be theirs. Whoever is here already is believed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table users add column email_unproven boolean not null default false').execute(db)
}
