import { accessParent, findReadable } from '@parley/access'
import { forbidden, onlyUsers, type ThreadReadState } from '@parley/contract'
import { type ChannelRow, type Database, record, recordAll, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import {
  countUnreadThreads,
  findThreadReadState,
  findUnreadFollowers,
  markFollowedRead,
  type NewReply,
  raiseThreadReadSeq,
  removeFromFollows,
  setFollowing,
  updateFollows,
} from './follows.queries.ts'

/**
 * Counts a new reply for the people who follow its thread. Those for whom it is the first unread one get an event, and so does its author
 * when they begin to follow or had unread replies. The others know already that the thread is unread.
 */
export async function followReply(trx: Transaction, channel: ChannelRow, reply: NewReply): Promise<void> {
  const { parentId, seq, authorId } = reply
  const changes = await updateFollows(trx, channel, reply)
  const changed = (readSeq: number, unreadCount: number) => ({
    messageId: parentId,
    channelId: channel.id,
    lastSeq: seq,
    readSeq,
    unreadCount,
    isFollowing: true,
  })
  const reached = changes.filter(({ unreadCount }) => unreadCount === 1).map(({ userId }) => userId)
  if (reached.length > 0) await recordReadState(trx, reached, changed(seq - 1, 1))
  const own = changes.find(({ userId }) => userId === authorId)
  if (own && !own.wasRead) await recordReadState(trx, [own.userId], changed(seq, 0))
}

/**
 * Stops counting a deleted reply. The people for whom it was the last unread one get an event, whether or not they get the events of the
 * channel. Call it after the summary of the thread was updated.
 */
export async function forgetReply(
  trx: Transaction,
  channel: ChannelRow,
  reply: { threadId: string; seq: number },
): Promise<void> {
  await recordAllRead(trx, channel, reply.threadId, { userIds: await removeFromFollows(trx, reply), isFollowing: true })
}

/** Tells the people who have unread replies to a message that it is deleted. Call it before the thread is deleted. */
export async function forgetThread(trx: Transaction, channel: ChannelRow, messageId: string): Promise<void> {
  await recordAllRead(trx, channel, messageId, {
    userIds: await findUnreadFollowers(trx, messageId),
    isFollowing: false,
  })
}

/** Records for those of these people who can read the channel that all replies to a message are read. */
async function recordAllRead(
  trx: Transaction,
  channel: ChannelRow,
  messageId: string,
  { userIds, isFollowing }: { userIds: string[]; isFollowing: boolean },
) {
  if (userIds.length === 0) return
  const pairOf = (userId: string) => ({ userId, channelId: channel.id })
  const isReadable = await findReadable(trx, userIds.map(pairOf))
  const readers = userIds.filter((userId) => isReadable(pairOf(userId)))
  if (readers.length === 0) return
  const { lastSeq } = await findThreadReadState(trx, readers[0]!, { id: messageId, channelId: channel.id })
  const channelId = channel.id
  await recordReadState(trx, readers, { messageId, channelId, lastSeq, readSeq: lastSeq, unreadCount: 0, isFollowing })
}

/**
 * Marks the replies to a message as read. It does not lock the channel, as for channels: the event may arrive before a reply that it has
 * counted. Nothing is stored for somebody who has never followed the thread: for them everything is read.
 */
export const markThreadRead = (
  db: Database,
  caller: Caller,
  messageId: string,
  seq: number,
): Promise<ThreadReadState> =>
  db.transaction().execute(async (trx) => {
    const { userId } = caller
    const { message } = await accessParent(trx, caller, messageId)
    const before = await findThreadReadState(trx, userId, message)
    const readSeq = Math.min(seq, before.lastSeq)
    if (!before.isStored || readSeq <= before.readSeq) return before
    await raiseThreadReadSeq(trx, { messageId, userId, readSeq })
    return recordOwnState(trx, caller, message)
  })

/**
 * Marks all followed threads as read whose newest reply is not later than `until`. The others stay unread: the caller may not have seen their
 * newest replies. Returns the number of threads that are unread now.
 */
export const markThreadsRead = (db: Database, caller: Caller, until: number): Promise<number> =>
  db.transaction().execute(async (trx) => {
    const states = await markFollowedRead(trx, caller, until)
    const routing = onlyUsers(caller.userId)
    await recordAll(
      trx,
      states.map((payload) => ({ type: 'THREAD_READ_UPDATE', payload, routing })),
    )
    return countUnreadThreads(trx, caller)
  })

/**
 * Begins to follow a thread, or stops. The author of the parent can stop before the first reply, with which they would begin to follow.
 * @throws ApiError 403 for a bot that begins to follow.
 */
export const changeFollowing = (
  db: Database,
  caller: Caller,
  messageId: string,
  isFollowing: boolean,
): Promise<ThreadReadState> =>
  db.transaction().execute(async (trx) => {
    const { message } = await accessParent(trx, caller, messageId, { lock: true })
    const before = await findThreadReadState(trx, caller.userId, message)
    const beginsWithReply = !before.isStored && message.authorId === caller.userId
    if (before.isFollowing === isFollowing && !beginsWithReply) return before
    const { channelId } = message
    const isStored = await setFollowing(trx, { messageId, channelId, userId: caller.userId, isFollowing })
    if (!isStored && isFollowing) throw forbidden('Bots do not follow threads')
    return isStored ? recordOwnState(trx, caller, message) : before
  })

/** Records the state of a thread for the caller, and returns it. */
async function recordOwnState(trx: Transaction, { userId }: Caller, message: { id: string; channelId: string }) {
  const { isStored: _, ...state } = await findThreadReadState(trx, userId, message)
  await recordReadState(trx, [userId], state)
  return state
}

const recordReadState = (trx: Transaction, userIds: string[], payload: ThreadReadState) =>
  record(trx, { type: 'THREAD_READ_UPDATE', payload, routing: onlyUsers(...userIds) })
