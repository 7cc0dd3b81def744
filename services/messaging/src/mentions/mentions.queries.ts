import { canReadById } from '@parley/access'
import type { Reader } from '@parley/database'
import type { Caller } from '@parley/identity'
import { sql } from 'kysely'
import { pageOf, type WantedPage } from '../newest-messages.ts'

/**
 * The messages of others that mention the caller and that they may read, newest first: by name, by a group of theirs, and by `@channel` or
 * `@here` since they joined the channel. A row of `mentions` stays when an edit removes the mention, so the message itself is
 * checked too.
 *
 * A target is the caller, a group or a channel of theirs. The newest messages of all belong to those targets whose own newest ones are the
 * newest, so of most channels one row is read. Several targets can have the same newest message, and share a place then. Served by the
 * primary key of mentions.
 */
export async function listMentions(db: Reader, caller: Caller, { limit, before }: WantedPage) {
  const count = sql.lit(limit + 1)
  const ofTarget = sql`
    select mention.message_id as id
    from mentions mention, lateral (
      select from messages m
      where m.id = mention.message_id and m.deleted_at is null and m.mentions && target.names
        and m.created_at >= target.since and m.author_id is distinct from ${caller.userId}::uuid
        and ${canReadById('m.channelId', caller)}
      offset 0) message
    where mention.target_id = target.id`
  const { rows } = await sql<{ id: string }>`
    with targets as materialized (
      select ${caller.userId}::uuid as id, array[${caller.userId}::text] as names, 0::bigint as since
      union all select group_id, array['group:' || group_id], 0 from group_members where user_id = ${caller.userId}
      union all select channel_id, '{@channel,@here}', joined_at from channel_members where user_id = ${caller.userId}
    ), newest as materialized (
      select target.*, first.id as first_id, dense_rank() over (order by first.id desc) as place
      from targets target, lateral (
        ${ofTarget} ${before === undefined ? sql`` : sql`and mention.message_id < ${before}::uuid`}
        order by mention.message_id desc limit 1
      ) first
    )
    select distinct found.id from newest target, lateral (
      ${ofTarget} and mention.message_id <= target.first_id order by mention.message_id desc limit ${count}
    ) found
    where target.place <= ${count}
    order by found.id desc limit ${count}`.execute(db)
  return pageOf(
    db,
    rows.map(({ id }) => id),
    limit,
  )
}
