import { type Kysely, sql } from 'kysely'

/**
 * Whether somebody has joined the channels that new people join. Everybody who is there has: 0023 added them, and since then their
 * creation did. It is false for those whom the version before creates: the worker adds them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'alter table users add column auto_joined boolean not null default true',
  'alter table users alter column auto_joined set default false',
  'create index users_not_auto_joined on users (id) where not auto_joined and removed_at is null',
]
