import { type Kysely, sql } from 'kysely'

/**
 * Pictures of people. `users.avatar_version` names the one that is shown. A row of `avatars` without `ready_at` waits for the worker,
 * which encodes it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'alter table users add column avatar_version text',
  `create table avatars (
    version uuid primary key,
    user_id uuid not null references users,
    created_at bigint not null,
    ready_at bigint
  )`,
  'create index avatars_of_user on avatars (user_id)',
  'create index avatars_pending on avatars (created_at) where ready_at is null',
]
