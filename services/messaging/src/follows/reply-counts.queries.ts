import { canRead } from '@parley/access'
import { type ChannelRow, isRowId, type Transaction } from '@parley/database'
import { sql } from 'kysely'

/** A new reply. Its `authorId` is null when a webhook wrote it. */
export interface NewReply {
  parentId: string
  seq: number
  createdAt: number
  authorId: string | null
  mentions: readonly string[]
}

/** What a new reply changes for somebody who follows the thread. */
interface FollowChange {
  userId: string
  unreadCount: number
  /** Of the author: whether they followed the thread before, and had no unread replies. */
  wasRead: boolean
}

/**
 * Counts a new reply for everybody who follows its thread. Returns the changes of people who can read the channel. The channel must be locked.
 *
 * - `people` has those who follow the thread, and those who may begin to: the people whom the reply mentions by name, its author, and the
 *   author of the parent, who is left out after they have stopped to follow. Bots do not follow threads.
 * - `changed` stores the follows. People who do not follow yet and cannot read the channel do not begin to. The reply is unread for
 *   everybody who can read it, except its author. Whoever had no unread replies has read up to the reply before. For the author, and for
 *   followers who cannot read the channel any more, everything counts as read.
 *
 * Served by the primary key of thread_follows. `offset 0` keeps PostgreSQL from reading all people when it has no statistics.
 */
export async function updateFollows(
  trx: Transaction,
  channel: Pick<ChannelRow, 'id' | 'kind'>,
  { parentId, seq, createdAt, authorId, mentions }: NewReply,
): Promise<FollowChange[]> {
  const named = [...new Set([...mentions.filter(isRowId), ...(authorId === null ? [] : [authorId])])]
  const { rows } = await sql<FollowChange>`
    with people as materialized (
      select u.id, person.follows, ${canRead('c', { userId: sql.ref('u.id'), role: sql.ref('u.role') })} as reads
      from (
        select id, bool_or(follows) as follows from (
          select user_id as id, true as follows from thread_follows where message_id = ${parentId} and is_following
          union all select unnest(${named}::uuid[]), false
          union all select m.author_id, false from messages m where m.id = ${parentId} and not exists (
            select from thread_follows own where own.message_id = m.id and own.user_id = m.author_id offset 0)
        ) found group by id
      ) person, lateral (
        select users.id, users.role from users
        where users.id = person.id and not users.is_bot and coalesce(users.removed_at, 0) = 0 offset 0
      ) u, (select ${channel.id}::uuid as id, ${channel.kind}::text as kind) c
    ), changed as (
      insert into thread_follows as f (message_id, user_id, channel_id, is_following, read_seq, unread_count, last_reply_at)
      select ${parentId}::uuid, id, ${channel.id}::uuid, true,
        ${seq}::bigint - is_unread::int, is_unread::int, ${createdAt}::bigint
      from people, lateral (select reads and id is distinct from ${authorId}::uuid as is_unread) new
      where follows or reads
      order by id
      on conflict (message_id, user_id) do update set
        is_following = true,
        read_seq = case when least(f.unread_count, excluded.unread_count) > 0 then f.read_seq else excluded.read_seq end,
        unread_count = case when excluded.unread_count > 0 then f.unread_count + 1 else 0 end,
        last_reply_at = excluded.last_reply_at
      returning f.user_id as id, f.unread_count, f.user_id is not distinct from ${authorId}::uuid and exists (
        select from thread_follows before
        where before.message_id = f.message_id and before.user_id = f.user_id and before.is_following
          and before.unread_count = 0) as was_read
    )
    select id as "userId", unread_count as "unreadCount", was_read as "wasRead"
    from changed join people using (id) where reads`.execute(trx)
  return rows
}

/**
 * Takes a deleted reply from the counts of everybody who follows its thread. Those for whom it was the last unread one have read everything.
 * Returns their ids. Call it after the summary of the thread was updated. The rows are locked first: a statement that waits for a lock would
 * see the counts as they were before. The channel must be locked.
 */
export async function removeFromFollows(
  trx: Transaction,
  { threadId, seq }: { threadId: string; seq: number },
): Promise<string[]> {
  const isLast = sql`unread_count = 1 and read_seq < ${seq}`
  const { rows } = await sql<{ userId: string; isLast: boolean }>`
    select user_id as "userId", ${isLast} as "isLast" from thread_follows
    where message_id = ${threadId} and is_following order by user_id for update`.execute(trx)
  await sql`
    update thread_follows f set
      unread_count = greatest(0, unread_count - case when read_seq < ${seq} then 1 else 0 end),
      read_seq = case when ${isLast} then t.last_seq else read_seq end,
      last_reply_at = t.last_reply_at
    from threads t where t.message_id = ${threadId} and f.message_id = t.message_id and is_following`.execute(trx)
  return rows.filter((row) => row.isLast).map(({ userId }) => userId)
}

/** The people who follow a thread and have unread replies. Served by the primary key of thread_follows. */
export async function findUnreadFollowers(trx: Transaction, messageId: string): Promise<string[]> {
  const rows = await trx
    .selectFrom('threadFollows')
    .select('userId')
    .where('messageId', '=', messageId)
    .where('isFollowing', '=', true)
    .where('unreadCount', '>', 0)
    .execute()
  return rows.map(({ userId }) => userId)
}
