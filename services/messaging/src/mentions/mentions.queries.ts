import { canReadById } from '@parley/access'
import type { Message } from '@parley/contract'
import type { Reader } from '@parley/database'
import type { Caller } from '@parley/identity'
import { findMessages } from '@parley/messages'
import { sql } from 'kysely'

interface MentionsPage {
  /** At most this number. */
  limit: number
  /** The id of the last message of the page before. */
  before?: string | undefined
}

/**
 * The messages of others that mention the caller and that they may read, newest first: by name, by a group of theirs, and by `@channel` or
 * `@here` since they joined the channel. A row of `mentions` stays when an edit removes the mention, so the message is asked too. Served by
 * the primary key of mentions, which is read once for the caller, and for each of their groups and channels.
 */
export async function listMentions(
  db: Reader,
  caller: Caller,
  { limit, before }: MentionsPage,
): Promise<{ messages: Message[]; hasMore: boolean }> {
  const count = sql.lit(limit + 1)
  const { rows } = await sql<{ id: string }>`
    with targets as materialized (
      select ${caller.userId}::uuid as id, array[${caller.userId}::text] as names, 0::bigint as since
      union all select group_id, array['group:' || group_id], 0 from group_members where user_id = ${caller.userId}
      union all select channel_id, '{@channel,@here}', joined_at from channel_members where user_id = ${caller.userId}
    )
    select distinct found.id from targets, lateral (
      select mention.message_id as id
      from mentions mention, lateral (
        select from messages m
        where m.id = mention.message_id and m.deleted_at is null and m.mentions && targets.names
          and m.created_at >= targets.since and m.author_id is distinct from ${caller.userId}::uuid
          and ${canReadById('m.channelId', caller)}
        offset 0) message
      where mention.target_id = targets.id ${before === undefined ? sql`` : sql`and mention.message_id < ${before}::uuid`}
      order by mention.message_id desc limit ${count}
    ) found
    order by found.id desc limit ${count}`.execute(db)
  const ids = rows.slice(0, limit).map(({ id }) => id)
  const messages = await findMessages(db, { ids })
  // A time-ordered id begins with the time.
  return { messages: messages.toSorted((a, b) => (a.id < b.id ? 1 : -1)), hasMore: rows.length > limit }
}
