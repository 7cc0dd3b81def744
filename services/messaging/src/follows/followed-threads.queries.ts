import { canReadById } from '@parley/access'
import { type FollowedThread, invalid } from '@parley/contract'
import { isRowId, type Reader } from '@parley/database'
import type { Caller } from '@parley/identity'
import { findMessages } from '@parley/messages'
import { sql } from 'kysely'

interface ListedState extends Pick<FollowedThread, 'lastSeq' | 'readSeq' | 'unreadCount'> {
  messageId: string
  lastReplyId: string | null
}

interface FollowedPage {
  /** At most this number. */
  limit: number
  /** The parent of the last thread of the page before. */
  before?: string | undefined
  /** Only threads with unread replies. */
  isUnread: boolean
}

/**
 * The threads that the caller follows and may read, newest reply first. Served by thread_follows_of_user and thread_follows_unread.
 * @throws ApiError 400 when `before` is not a message with replies that the caller may read.
 */
export async function listFollowed(
  db: Reader,
  caller: Caller,
  { limit, before, isUnread }: FollowedPage,
): Promise<{ threads: FollowedThread[]; hasMore: boolean }> {
  const cursor = before === undefined ? undefined : await findCursor(db, caller, before)
  const { rows } = await sql<ListedState>`
    select f.message_id as "messageId", f.read_seq as "readSeq", f.unread_count as "unreadCount",
      (select t.last_seq from threads t where t.message_id = f.message_id) as "lastSeq",
      (select m.id from messages m where m.thread_id = f.message_id and m.deleted_at is null
       order by m.seq desc limit 1) as "lastReplyId"
    from thread_follows f
    where f.user_id = ${caller.userId} and f.is_following and f.last_reply_at is not null
      ${isUnread ? sql`and f.unread_count > 0` : sql``}
      ${cursor ? sql`and (f.last_reply_at, f.message_id) < (${cursor.lastReplyAt}::bigint, ${before}::uuid)` : sql``}
      and ${canReadById('f.channelId', caller)}
      and exists (select from messages m where m.id = f.message_id and m.deleted_at is null offset 0)
    order by f.last_reply_at desc, f.message_id desc
    limit ${sql.lit(limit + 1)}`.execute(db)
  const page = rows.slice(0, limit)
  const ids = page.flatMap(({ messageId, lastReplyId }) => [messageId, ...(lastReplyId === null ? [] : [lastReplyId])])
  const messages = await findMessages(db, { ids })
  const byId = new Map(messages.map((message) => [message.id, message]))
  const threads = page.flatMap(({ messageId, lastReplyId, ...state }) => {
    const [message, lastReply] = [byId.get(messageId), byId.get(lastReplyId ?? '')]
    // One of them may have been deleted between the two statements.
    return message && lastReply ? [{ message, lastReply, ...state, isFollowing: true as const }] : []
  })
  return { threads, hasMore: rows.length > limit }
}

/**
 * The time of the newest reply of the thread of `before`. When all replies or their parent were deleted since the page before was read, it is
 * the time of the newest deleted reply.
 */
async function findCursor(db: Reader, caller: Caller, before: string) {
  const { rows } = isRowId(before)
    ? await sql<{ lastReplyAt: number | null }>`
        select coalesce(f.last_reply_at,
          (select r.created_at from messages r where r.thread_id = m.id order by r.seq desc limit 1)) as "lastReplyAt"
        from messages m left join thread_follows f on f.message_id = m.id and f.user_id = ${caller.userId}
        where m.id = ${before} and (f.message_id is not null or ${canReadById('m.channelId', caller)})`.execute(db)
    : { rows: [] }
  const lastReplyAt = rows[0]?.lastReplyAt
  if (!lastReplyAt) throw invalid('before must be the id of a message with replies', 'invalid_cursor')
  return { lastReplyAt }
}

/**
 * The number of followed threads with unread replies that the caller may read. It reads only the index thread_follows_unread, and looks up
 * each channel once.
 */
export async function countUnreadThreads(db: Reader, caller: Caller): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select coalesce(sum(unread.count), 0)::int as count from (
      select f.channel_id, count(*) as count from thread_follows f
      where f.user_id = ${caller.userId} and f.is_following and f.last_reply_at is not null and f.unread_count > 0
      group by f.channel_id offset 0
    ) unread
    where ${canReadById('unread.channelId', caller)}`.execute(db)
  return rows[0]!.count
}
