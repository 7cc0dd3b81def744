import { type Kysely, sql } from 'kysely'

/**
 * Sign-in through the provider of an organisation: who is who there, which of its sessions began which of ours, and which of its
 * tokens were used. In PostgreSQL and not in Redis, so that an assertion counts once also when Redis is away.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table identities (
     protocol text not null,
     issuer text not null,
     subject text not null,
     user_id uuid not null references users,
     made_admin boolean not null default false,
     created_at bigint not null,
     primary key (protocol, issuer, subject)
   )`,
  'create index identities_of_user on identities (user_id)',

  `create table provider_sessions (
     session_id uuid primary key references sessions on delete cascade,
     provider_id text not null,
     issuer text not null,
     subject text not null,
     sid text,
     id_token text
   )`,
  'create index provider_sessions_of_subject on provider_sessions (issuer, subject)',
  'create index provider_sessions_of_sid on provider_sessions (issuer, sid) where sid is not null',

  `create table used_tokens (
     digest bytea primary key,
     expires_at bigint not null
   )`,
  'create index used_tokens_expiry on used_tokens (expires_at)',
]
