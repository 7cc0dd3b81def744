import { type Kysely, sql } from 'kysely'

/** An index of the pinned messages of a channel. It contains only pinned rows, so it costs a send nothing. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw('create index messages_pinned on messages (channel_id, pinned_at, seq) where pinned_at is not null')
    .execute(db)
}
