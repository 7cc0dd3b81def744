import { type Kysely, sql } from 'kysely'

/**
 * Links sent by mail, and the counters that limit guesses and mails. Both are here and not in Redis, so that sign-in
 * works without Redis. Of a link only the digest of its token is stored. An address has one link per purpose, so a
 * newer link replaces the older one.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table one_time_links (
     email text not null,
     purpose text not null check (purpose in ('login', 'invite', 'reset')),
     token_hash bytea not null,
     user_id uuid,
     expires_at bigint not null,
     primary key (email, purpose)
   )`,
  'create index one_time_links_expiry on one_time_links (expires_at)',

  `create table attempts (
     kind text not null,
     subject text not null,
     attempted_at bigint[] not null,
     last_attempt_at bigint not null,
     primary key (kind, subject)
   )`,
  'create index attempts_age on attempts (last_attempt_at)',
]
