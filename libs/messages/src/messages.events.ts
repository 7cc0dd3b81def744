import { wireChannelId } from '@parley/access'
import { audienceOf, type Control, type Message, onlyUsers, type Routing } from '@parley/contract'
import { anyOf, type ChannelRow, type MessageRow, type Reader, record, type Transaction } from '@parley/database'
import { findMessage, findParticipants } from './messages.queries.ts'

/** Records that a message changed. `control` has facts for the realtime nodes and receivers, which clients do not get. */
export async function recordMessageUpdated(
  trx: Transaction,
  channel: ChannelRow,
  message: Message,
  control: Control = {},
): Promise<void> {
  if (message.threadId !== null) return recordReplyUpdated(trx, channel, message, message.threadId)
  if (channel.kind !== 'direct') {
    const routing = { ...(await audienceOfMessage(trx, channel, message)), ...control }
    return record(trx, { type: 'UPDATE_MESSAGE', payload: message, routing })
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
    routing: await audienceOfMessage(trx, channel, reply),
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
    const routing = audienceOf(channel, await findMentionedInThread(trx, id))
    return record(trx, { type: 'DELETE_MESSAGE', payload: { id, channelId, seq }, routing })
  }
  const participants = await findParticipants(trx, channel.id)
  return record(trx, {
    type: 'DELETE_DM_MESSAGE',
    payload: { id, channelId, conversationId: channelId, seq, participants },
    routing: onlyUsers(...participants),
  })
}

/** Records that a reply was deleted, and the new state of its parent. */
export async function recordReplyDeleted(
  trx: Transaction,
  channel: ChannelRow,
  id: string,
  parent: Message,
): Promise<void> {
  await record(trx, {
    type: 'DELETE_THREAD_REPLY',
    payload: {
      id,
      threadId: parent.id,
      channelId: channel.id,
      threadMeta: parent.threadMeta,
      parentRev: parent.rev,
    },
    routing: await audienceOfMessage(trx, channel, { id, threadId: parent.id }),
  })
}

/** The audience of an event of a channel or conversation that is not about one message, such as typing. */
export async function audienceOfPlace(db: Reader, channel: ChannelRow): Promise<Routing> {
  return channel.kind === 'direct' ? onlyUsers(...(await findParticipants(db, channel.id))) : audienceOf(channel)
}

/**
 * The audience of an event about one message of a channel or conversation. It includes everybody whom the message or
 * its parent has ever mentioned.
 */
export async function audienceOfMessage(
  db: Reader,
  channel: ChannelRow,
  { id, threadId }: Pick<Message, 'id' | 'threadId'>,
): Promise<Routing> {
  if (channel.kind === 'direct') return audienceOfPlace(db, channel)
  const ids = threadId === null ? [id] : [id, threadId]
  const rows = await db
    .selectFrom('messages')
    .select(['mentions', 'mentionedBefore'])
    .where('id', '=', anyOf(ids))
    .execute()
  return audienceOf(channel, rows.flatMap(mentionedBy))
}

/** Everybody whom a message or its replies have ever mentioned. Served by messages_of_thread. */
async function findMentionedInThread(db: Reader, id: string): Promise<string[]> {
  const rows = await db
    .selectFrom('messages')
    .select(['mentions', 'mentionedBefore'])
    .where(({ eb, or }) => or([eb('id', '=', id), eb('threadId', '=', id)]))
    .where(({ eb, or }) => or([eb('mentions', 'is not', null), eb('mentionedBefore', 'is not', null)]))
    .execute()
  return rows.flatMap(mentionedBy)
}

const mentionedBy = ({ mentions, mentionedBefore }: Pick<MessageRow, 'mentions' | 'mentionedBefore'>) => [
  ...(mentions ?? []),
  ...(mentionedBefore ?? []),
]
