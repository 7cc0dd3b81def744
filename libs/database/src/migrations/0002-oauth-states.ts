import { type Kysely, sql } from 'kysely'

/**
 * Sign-ins through OAuth providers that are in progress, and the attempts of each client address. Both are here and not in Redis, so that
 * sign-in works without Redis. Of the browser's secrets only digests are stored.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table oauth_states (
     state_hash bytea primary key,
     browser_hash bytea not null,
     provider_id text not null,
     ip text not null,
     code_verifier text not null,
     expires_at bigint not null
   )`,
  'create index oauth_states_expiry on oauth_states (expires_at)',

  `create table oauth_attempts (
     ip text primary key,
     attempted_at bigint[] not null,
     last_attempt_at bigint not null
   )`,
  'create index oauth_attempts_age on oauth_attempts (last_attempt_at)',
]
