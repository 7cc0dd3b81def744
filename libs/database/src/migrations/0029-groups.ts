import { type Kysely, sql } from 'kysely'

/**
 * Groups of people, and the channels whose members they are. `by_hand` is false for somebody who is a member of a channel through groups
 * alone; what the version before enters is by hand.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'create index users_guests on users (id) where is_guest',
  `create table groups (
     id uuid primary key,
     handle text not null,
     handle_key text not null,
     handle_skeleton text not null,
     name text not null,
     source text not null,
     created_at bigint not null,
     deleted_at bigint
   )`,
  'create unique index groups_live_handle on groups (handle_key) where deleted_at is null',
  'create index groups_live_skeleton on groups (handle_skeleton) where deleted_at is null',
  `create table group_members (
     group_id uuid not null references groups,
     user_id uuid not null references users,
     added_at bigint not null,
     primary key (group_id, user_id)
   )`,
  'create index group_members_of_user on group_members (user_id, group_id)',
  `create table channel_groups (
     channel_id uuid not null references channels on delete cascade,
     group_id uuid not null references groups,
     primary key (channel_id, group_id)
   )`,
  'create index channel_groups_of_group on channel_groups (group_id, channel_id)',
  'alter table channel_members add column by_hand boolean not null default true',
]
