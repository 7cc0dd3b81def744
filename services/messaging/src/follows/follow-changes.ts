import { accessParent } from '@parley/access'
import { forbidden, type ThreadReadState } from '@parley/contract'
import type { Database, Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { countUnreadThreads } from './followed-threads.queries.ts'
import { recordReadState, recordReadStates } from './follows.events.ts'
import { findThreadReadState, markFollowedRead, raiseThreadReadSeq, setFollowing } from './follows.queries.ts'

/*
 * What a person changes about the threads that they follow. `reply-counts.ts` has what new and deleted replies change for them.
 */

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
    await recordReadStates(trx, caller.userId, states)
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
