import { type Kysely, sql } from 'kysely'

/**
 * `messages.ts`: what Slack's programs know a message by, in microseconds. It is unique in its channel and grows with `seq`, whatever the
 * clocks say (docs/decisions/0019-slack-timestamps.md). Null for messages of earlier versions.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'alter table channels add column last_ts bigint',
  'alter table messages add column ts bigint',
  // Few are so far from the moment of their creation: only after a clock was wrong.
  'create index messages_ts_ahead on messages (channel_id, ts) where ts >= created_at * 1000 + 8000000',
]
