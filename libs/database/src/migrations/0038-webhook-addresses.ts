import { type Kysely, sql } from 'kysely'

/** The secret in the address of a webhook, and webhooks that reply: the last reply of a thread may be a webhook's. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'alter table webhooks add column secret_hash bytea',
  'alter table threads add column last_reply_webhook uuid',
]
