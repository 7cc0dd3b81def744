import { canReadById } from '@parley/access'
import type { ThreadReadState } from '@parley/contract'
import type { Reader, Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { sql } from 'kysely'

/** The read state of a thread. Somebody who has never followed it has read everything. Served by primary keys. */
export async function findThreadReadState(
  db: Reader,
  userId: string,
  { id, channelId }: { id: string; channelId: string },
): Promise<ThreadReadState & { isStored: boolean }> {
  const { rows } = await sql<Omit<ThreadReadState, 'messageId' | 'channelId'> & { isStored: boolean }>`
    select coalesce(t.last_seq, 0) as "lastSeq", coalesce(f.read_seq, t.last_seq, 0) as "readSeq",
      coalesce(f.unread_count, 0) as "unreadCount", coalesce(f.is_following, false) as "isFollowing",
      f.user_id is not null as "isStored"
    from (select ${id}::uuid as id) parent
      left join threads t on t.message_id = parent.id
      left join thread_follows f on f.message_id = parent.id and f.user_id = ${userId}`.execute(db)
  return { messageId: id, channelId, ...rows[0]! }
}

/**
 * Moves the position forward, never back, and counts the replies after it. The row is locked first: a statement that waits for the lock
 * would count the replies as they were before a new reply or a deletion that it has waited for. Served by messages_of_thread.
 */
export async function raiseThreadReadSeq(
  trx: Transaction,
  { messageId, userId, readSeq }: { messageId: string; userId: string; readSeq: number },
): Promise<void> {
  const own = sql`message_id = ${messageId} and user_id = ${userId}`
  await sql`select from thread_follows where ${own} for update`.execute(trx)
  await sql`
    update thread_follows set read_seq = ${readSeq}, unread_count = case when not is_following then 0 else (
      select count(*) from messages m where m.thread_id = ${messageId} and m.seq > ${readSeq} and m.deleted_at is null) end
    where ${own} and read_seq < ${readSeq}`.execute(trx)
}

/**
 * Marks the followed threads as read that the caller may read and whose newest reply is not later than `until`. Returns their new states. The
 * rows are locked first, in the order of their ids: a thread that gets a reply meanwhile stays unread. Served by thread_follows_unread.
 */
export async function markFollowedRead(trx: Transaction, caller: Caller, until: number): Promise<ThreadReadState[]> {
  const { rows: unread } = await sql<{ messageId: string }>`
    select f.message_id as "messageId" from thread_follows f
    where f.user_id = ${caller.userId} and f.is_following and f.last_reply_at <= ${until} and f.unread_count > 0
      and ${canReadById('f.channelId', caller)}
    order by f.message_id for update`.execute(trx)
  const ids = unread.map(({ messageId }) => messageId)
  const { rows } = await sql<Pick<ThreadReadState, 'messageId' | 'channelId' | 'lastSeq'>>`
    update thread_follows f set read_seq = t.last_seq, unread_count = 0
    from threads t
    where t.message_id = f.message_id and f.user_id = ${caller.userId} and f.message_id = any(${ids}::uuid[])
    returning f.message_id as "messageId", f.channel_id as "channelId", t.last_seq as "lastSeq"`.execute(trx)
  return rows.map((row) => ({ ...row, readSeq: row.lastSeq, unreadCount: 0, isFollowing: true }))
}

/**
 * Stores whether somebody follows a thread. Everything up to now counts as read. A message without replies gets a thread without replies.
 * The channel must be locked. Returns false for a bot, which follows no threads.
 */
export async function setFollowing(
  trx: Transaction,
  {
    messageId,
    channelId,
    userId,
    isFollowing,
  }: Pick<ThreadReadState, 'messageId' | 'channelId' | 'isFollowing'> & { userId: string },
): Promise<boolean> {
  await sql`
    insert into threads (message_id, last_seq, reply_count, participants) values (${messageId}, 0, 0, '{}')
    on conflict (message_id) do nothing`.execute(trx)
  const { rows } = await sql`
    insert into thread_follows (message_id, user_id, channel_id, is_following, read_seq, last_reply_at)
    select t.message_id, u.id, ${channelId}::uuid, ${isFollowing}::boolean, t.last_seq, t.last_reply_at
    from threads t, users u where t.message_id = ${messageId} and u.id = ${userId} and not u.is_bot
    on conflict (message_id, user_id) do update set is_following = excluded.is_following, read_seq = excluded.read_seq,
      unread_count = 0, last_reply_at = excluded.last_reply_at
    returning user_id`.execute(trx)
  return rows.length > 0
}
