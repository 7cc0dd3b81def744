import { accessParent } from '@parley/access'
import { forbidden, onlyUsers, type ThreadReadState } from '@parley/contract'
import { type ChannelRow, type Database, record, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import {
  findThreadReadState,
  type NewReply,
  raiseThreadReadSeq,
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
    return recordState(trx, caller, message)
  })

/** Begins to follow a thread, or stops. @throws ApiError 403 for a bot. */
export const follow = (
  db: Database,
  caller: Caller,
  messageId: string,
  isFollowing: boolean,
): Promise<ThreadReadState> =>
  db.transaction().execute(async (trx) => {
    const { message } = await accessParent(trx, caller, messageId, { lock: true })
    const before = await findThreadReadState(trx, caller.userId, message)
    if (before.isFollowing === isFollowing) return before
    const { channelId } = message
    if (!(await setFollowing(trx, { messageId, channelId, userId: caller.userId, isFollowing }))) {
      throw forbidden('Bots do not follow threads')
    }
    return recordState(trx, caller, message)
  })

async function recordState(trx: Transaction, { userId }: Caller, message: { id: string; channelId: string }) {
  const { isStored: _, ...state } = await findThreadReadState(trx, userId, message)
  await recordReadState(trx, [userId], state)
  return state
}

const recordReadState = (trx: Transaction, userIds: string[], payload: ThreadReadState) =>
  record(trx, { type: 'THREAD_READ_UPDATE', payload, routing: onlyUsers(...userIds) })
