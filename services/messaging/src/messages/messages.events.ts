import { wireChannelId } from '@parley/access'
import { audienceOf, type Message, onlyUsers, type Routing } from '@parley/contract'
import { type ChannelRow, type MessageRow, type Reader, record, type Transaction } from '@parley/database'
import { findMessage, findParticipants } from './messages.queries.ts'

/** Records that a message changed. */
export async function recordMessageUpdated(trx: Transaction, channel: ChannelRow, message: Message): Promise<void> {
  if (message.threadId !== null) return recordReplyUpdated(trx, channel, message, message.threadId)
  if (channel.kind !== 'direct') {
    return record(trx, { type: 'UPDATE_MESSAGE', payload: message, routing: audienceOf(channel) })
  }
  const participants = await findParticipants(trx, channel.id)
  return record(trx, {
    type: 'UPDATE_DM_MESSAGE',
    payload: { ...message, participants },
    routing: onlyUsers(...participants),
  })
}

async function recordReplyUpdated(trx: Transaction, channel: ChannelRow, reply: Message, parentMessageId: string) {
  const { threadMeta, rev: parentRev } = await findMessage(trx, parentMessageId)
  await record(trx, {
    type: 'UPDATE_THREAD_REPLY',
    payload: { ...reply, parentMessageId, threadMeta, parentRev },
    routing: audienceOf(channel),
  })
}

/** Records that a message was deleted, and its replies with it. */
export async function recordMessageDeleted(
  trx: Transaction,
  channel: ChannelRow,
  { id, seq }: Pick<MessageRow, 'id' | 'seq'>,
): Promise<void> {
  const channelId = wireChannelId(channel)
  if (channel.kind !== 'direct') {
    return record(trx, { type: 'DELETE_MESSAGE', payload: { id, channelId, seq }, routing: audienceOf(channel) })
  }
  const participants = await findParticipants(trx, channel.id)
  return record(trx, {
    type: 'DELETE_DM_MESSAGE',
    payload: { id, channelId, conversationId: channelId, seq, participants },
    routing: onlyUsers(...participants),
  })
}

/** Records that a reply was deleted, and the new state of its parent. */
export const recordReplyDeleted = (trx: Transaction, channel: ChannelRow, id: string, parent: Message) =>
  record(trx, {
    type: 'DELETE_THREAD_REPLY',
    payload: {
      id,
      threadId: parent.id,
      channelId: channel.id,
      threadMeta: parent.threadMeta,
      parentRev: parent.rev,
    },
    routing: audienceOf(channel),
  })

/** The audience of events about messages of this channel or conversation. */
export async function messageAudience(db: Reader, channel: ChannelRow): Promise<Routing> {
  return channel.kind === 'direct' ? onlyUsers(...(await findParticipants(db, channel.id))) : audienceOf(channel)
}
