import { type Kysely, sql } from 'kysely'

/** The mentions of the messages that are older than `mentions`. A message may be edited meanwhile: readers look at the message too. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    insert into mentions (target_id, message_id)
    select target_id, m.id from messages m, mention_targets(m.mentions, m.channel_id, m.thread_id) target_id
    where m.mentions is not null and m.deleted_at is null
    on conflict do nothing`.execute(db)
}
