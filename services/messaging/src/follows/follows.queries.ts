import { canRead, canReadById } from '@parley/access'
import { type FollowedThread, invalid, type ThreadReadState } from '@parley/contract'
import { type ChannelRow, isRowId, type Reader, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { findMessages } from '@parley/messages'
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
export interface FollowChange {
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
