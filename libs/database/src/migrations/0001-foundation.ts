import { type Kysely, sql } from 'kysely'

/**
 * People, sessions, channels, messages, and the outbox with its positions. Moments are epoch milliseconds, as on the
 * wire. `messages` has no foreign keys: checking them costs more than the rest of a shared send. The send statement
 * itself proves that author and channel exist, and people and channels are only marked as removed.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create function now_ms() returns bigint language sql stable parallel safe
   return (extract(epoch from clock_timestamp()) * 1000)::bigint`,

  `create table users (
     id uuid primary key,
     user_name text not null,
     user_name_key text not null,
     email text not null,
     is_admin boolean not null default false,
     password_hash text,
     created_at bigint not null,
     removed_at bigint
   )`,
  'create unique index users_live_name on users (user_name_key) where removed_at is null',
  'create unique index users_live_email on users (email) where removed_at is null',
  'create index users_live_admins on users (id) where is_admin and removed_at is null',

  `create table sessions (
     id uuid primary key,
     user_id uuid not null references users,
     created_at bigint not null,
     last_used_at bigint not null,
     expires_at bigint not null,
     ended_at bigint,
     refresh_generation integer not null default 0,
     rotated_at bigint,
     previous_rotated_at bigint,
     ip text,
     user_agent text
   )`,
  'create index sessions_active on sessions (user_id, created_at, id) where ended_at is null',
  'create index sessions_ended on sessions (ended_at) where ended_at is not null',

  `create table channels (
     id uuid primary key,
     kind text not null check (kind in ('public', 'private', 'direct')),
     name text not null,
     name_key text not null,
     topic text,
     created_by uuid,
     created_at bigint not null,
     updated_at bigint,
     deleted_at bigint,
     members_version bigint not null default 1,
     last_seq bigint not null default 0,
     direct_key text
   ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)`,
  `create unique index channels_live_name on channels (name_key) where deleted_at is null and kind <> 'direct'`,
  `create unique index channels_direct on channels (direct_key) where kind = 'direct'`,

  `create table channel_members (
     channel_id uuid not null references channels,
     user_id uuid not null references users,
     joined_at bigint not null,
     primary key (channel_id, user_id)
   )`,
  'create index channel_members_of_user on channel_members (user_id, channel_id)',

  `create table messages (
     id uuid primary key,
     channel_id uuid not null,
     thread_id uuid,
     seq bigint not null,
     rev bigint not null default 1,
     author_id uuid,
     content text not null,
     attachments jsonb,
     images text[],
     quoted_message_id uuid,
     mentions text[],
     pinned_at bigint,
     created_at bigint not null,
     updated_at bigint,
     deleted_at bigint
   )`,
  'create unique index messages_of_channel on messages (channel_id, seq) where thread_id is null',
  'create unique index messages_of_thread on messages (thread_id, seq) where thread_id is not null',

  `create table reactions (
     message_id uuid not null,
     reaction text not null,
     user_id uuid not null,
     position bigint generated always as identity,
     primary key (message_id, reaction, user_id)
   )`,

  `create table idempotency_keys (
     user_id uuid not null,
     key text not null,
     request_hash bytea not null,
     answer text not null,
     created_at bigint not null,
     primary key (user_id, key)
   )`,
  'create index idempotency_keys_age on idempotency_keys (created_at)',

  // Three generations in a ring: rows go to the current slot, and the oldest slot is truncated when its turn comes.
  'create sequence outbox_ids',
  `create table outbox (
     id bigint not null,
     slot smallint not null,
     routing text not null,
     event text,
     trace text,
     created_at bigint not null,
     primary key (id, slot)
   ) partition by list (slot)`,
  ...[0, 1, 2].map((slot) => `create table outbox_${slot} partition of outbox for values in (${slot})`),
  `create table outbox_ring (
     id smallint primary key default 1 check (id = 1),
     slot smallint not null,
     rotated_at bigint not null
   )`,
  'insert into outbox_ring (slot, rotated_at) values (0, now_ms())',

  `create table event_positions (
     last_pos bigint primary key,
     outbox_ids bigint[] not null,
     created_at bigint not null
   )`,
  'create index event_positions_age on event_positions (created_at)',
  `create table relay_lease (
     id smallint primary key default 1 check (id = 1),
     token bigint not null default 0,
     holder text,
     expires_at bigint not null default 0,
     epoch text not null,
     pos bigint not null default 0,
     low_id bigint not null default 0,
     low_pos bigint not null default 0
   ) with (fillfactor = 20)`,
  `insert into relay_lease (epoch) values (substr(replace(gen_random_uuid()::text, '-', ''), 1, 12))`,

  `create table jobs (
     id uuid primary key,
     name text not null,
     data jsonb not null,
     trace text,
     created_at bigint not null,
     enqueued_at bigint,
     failed_at bigint,
     failure text
   )`,
  'create index jobs_waiting on jobs (enqueued_at nulls first) where failed_at is null',

  `create table server_settings (
     id smallint primary key default 1 check (id = 1),
     name text not null
   )`,
  `insert into server_settings (name) values ('Parley')`,

  `create table audit_log (
     id uuid primary key,
     action text not null,
     actor_id text not null,
     target_type text not null,
     target_id text not null,
     metadata jsonb,
     ip text,
     created_at bigint not null
   )`,
  'create index audit_log_newest on audit_log (created_at desc, id desc)',
  'create index audit_log_by_actor on audit_log (actor_id, created_at desc)',
  'create index audit_log_by_action on audit_log (action, created_at desc)',
]
