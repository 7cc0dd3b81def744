import { type Kysely, sql } from 'kysely'

/** What makes a bot an app: its signing secret, where buttons go, its commands, and the addresses at which it may answer later. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table apps (
     bot_id uuid primary key,
     sealed_signing_secret text not null,
     interactivity_url text,
     created_at bigint not null,
     updated_at bigint not null
   )`,
  `create table commands (
     id uuid primary key,
     bot_id uuid not null,
     name text not null,
     url text not null,
     description text not null,
     usage_hint text not null,
     created_by uuid not null,
     created_at bigint not null,
     updated_at bigint,
     deleted_at bigint
   )`,
  'create unique index commands_live_name on commands (name) where deleted_at is null',
  `create table app_responses (
     id uuid primary key,
     secret_hash bytea not null,
     bot_id uuid not null,
     user_id uuid not null,
     channel_id uuid not null,
     message_id uuid,
     uses_left integer not null,
     expires_at bigint not null
   )`,
  'create index app_responses_age on app_responses (expires_at)',
]
