import { type Kysely, sql } from 'kysely'

/**
 * Second factors: authenticator apps (TOTP) with recovery codes, and passkeys. `mfa_attempts` has the sign-ins that wait for a second
 * factor, `webauthn_challenges` what passkeys were asked to sign. `sessions.must_enrol` marks sessions that may do nothing but set up a
 * second factor.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `alter table users
     add column second_factor_since bigint,
     add column device_generation integer not null default 0`,
  `alter table sessions
     add column must_enrol boolean not null default false,
     add column via_provider boolean not null default false`,

  `create table totp_secrets (
     user_id uuid primary key references users,
     sealed_secret text not null,
     created_at bigint not null,
     confirmed_at bigint,
     last_step bigint not null default 0
   )`,
  `create table recovery_codes (
     user_id uuid not null references users,
     code_hash bytea not null,
     primary key (user_id, code_hash)
   )`,
  `create table passkeys (
     id uuid primary key,
     user_id uuid not null references users,
     name text not null,
     credential_id text not null unique,
     public_key bytea not null,
     counter bigint not null,
     transports text[] not null,
     created_at bigint not null,
     last_used_at bigint
   )`,
  'create index passkeys_of_user on passkeys (user_id)',

  `create table mfa_attempts (
     token_hash bytea primary key,
     user_id uuid not null references users,
     method text not null,
     seconds integer not null,
     wrong_answers integer not null default 0,
     expires_at bigint not null
   )`,
  'create index mfa_attempts_expiry on mfa_attempts (expires_at)',
  'create index mfa_attempts_of_user on mfa_attempts (user_id)',
  `create table webauthn_challenges (
     challenge_hash bytea primary key,
     purpose text not null,
     user_id uuid references users,
     expires_at bigint not null
   )`,
  'create index webauthn_challenges_expiry on webauthn_challenges (expires_at)',
]
