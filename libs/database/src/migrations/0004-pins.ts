import { type Kysely, sql } from 'kysely'

/** The pinned messages of a channel, found without its others. Only pinned rows are in the index: sending costs the same. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw('create index messages_pinned on messages (channel_id, pinned_at, seq) where pinned_at is not null')
    .execute(db)
}
