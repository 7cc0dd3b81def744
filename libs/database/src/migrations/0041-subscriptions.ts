import { type Kysely, sql } from 'kysely'

/** Receivers of events outside, how far each has them, and what was tried. `delivery_lease` says which process delivers. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table subscriptions (
     id uuid primary key,
     bot_id uuid not null,
     created_by uuid not null,
     url text not null,
     events text[] not null,
     channel_ids uuid[],
     sealed_secret text not null,
     is_paused boolean not null default false,
     pause_reason text,
     epoch text not null,
     pos bigint not null,
     generation integer not null default 1,
     attempts integer not null default 0,
     failing_since bigint,
     retry_at bigint,
     created_at bigint not null,
     updated_at bigint not null,
     deleted_at bigint
   )`,
  'create index subscriptions_changed on subscriptions (updated_at)',
  `create table subscription_deliveries (
     id uuid primary key,
     subscription_id uuid not null,
     event_id text not null,
     type text not null,
     attempt integer not null,
     status integer,
     duration_ms integer not null,
     error text,
     created_at bigint not null
   )`,
  'create index subscription_deliveries_of on subscription_deliveries (subscription_id, id)',
  'create index subscription_deliveries_age on subscription_deliveries (created_at)',
  `create table delivery_lease (
     id smallint primary key default 1 check (id = 1),
     holder text,
     expires_at bigint not null default 0
   )`,
  'insert into delivery_lease default values',
]
