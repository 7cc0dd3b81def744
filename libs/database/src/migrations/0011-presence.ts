import { type Kysely, sql } from 'kysely'

/**
 * Presence, with a row for each person who was ever online. `streams` counts their open event streams by realtime node,
 * and `shown` is the status that everybody sees. `changed_by` is the transaction that last changed `shown`, by which
 * the nodes find changes. `presence_nodes` has a row for each realtime node. A node that has not reported for long is
 * dead, and so are its streams.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table presence (
     user_id uuid primary key,
     streams jsonb not null default '{}',
     set_by_hand text,
     shown text not null,
     last_seen bigint not null,
     offline_at bigint,
     changed_by xid8 not null
   ) with (fillfactor = 70)`,
  'create index presence_changed on presence (changed_by)',
  'create index presence_leaving on presence (offline_at) where offline_at is not null',
  `create table presence_nodes (
     id text primary key,
     seen_at bigint not null
   ) with (fillfactor = 50)`,
]
