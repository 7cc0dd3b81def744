import { type Kysely, sql } from 'kysely'

/** Messages in one statement. A statement may run for 30 s, and adding 20,000 mentions takes about one. */
const pageSize = 20_000

/**
 * The mentions of the messages that are older than `mentions`, page by page. A message may be edited meanwhile: readers look at the message
 * too.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (let last: string | undefined = '00000000-0000-0000-0000-000000000000'; last !== undefined; ) {
    const { rows }: { rows: { id: string }[] } = await sql<{ id: string }>`
      with page as materialized (
        select id, channel_id, thread_id, mentions, deleted_at from messages where id > ${last}::uuid order by id limit ${pageSize}
      ), added as (
        insert into mentions (target_id, message_id)
        select target_id, p.id from page p, mention_targets(p.mentions, p.channel_id, p.thread_id) target_id
        where p.mentions is not null and p.deleted_at is null
        on conflict do nothing
      )
      select id from page order by id desc limit 1`.execute(db)
    last = rows[0]?.id
  }
}
