import { type Kysely, sql } from 'kysely'

/**
 * What a directory calls its groups. `changed_at` is when a group last changed for SCIM, and grows with each change;
 * null: never since it was created. `scim_made_admin` says that a group of `scim.adminGroups` made somebody an admin.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'alter table groups add column external_id text, add column changed_at bigint',
  'alter table users add column scim_made_admin boolean not null default false',
]
