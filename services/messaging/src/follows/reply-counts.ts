import { findReadable } from '@parley/access'
import type { ChannelRow, Transaction } from '@parley/database'
import { recordReadState } from './follows.events.ts'
import { findThreadReadState } from './follows.queries.ts'
import { findUnreadFollowers, type NewReply, removeFromFollows, updateFollows } from './reply-counts.queries.ts'

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
