import { wireChannelId } from '@parley/access'
import { audienceOf, type Message, onlyUsers, type Routing } from '@parley/contract'
import { type ChannelRow, record, type Transaction } from '@parley/database'
import { findParticipants } from './messages.queries.ts'

/** Records that a message changed. */
export async function recordMessageUpdated(trx: Transaction, channel: ChannelRow, message: Message): Promise<void> {
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

/** Records that a message was deleted, and its replies with it. */
export async function recordMessageDeleted(trx: Transaction, channel: ChannelRow, id: string): Promise<void> {
  const channelId = wireChannelId(channel)
  if (channel.kind !== 'direct') {
    return record(trx, { type: 'DELETE_MESSAGE', payload: { id, channelId }, routing: audienceOf(channel) })
  }
  const participants = await findParticipants(trx, channel.id)
  return record(trx, {
    type: 'DELETE_DM_MESSAGE',
    payload: { id, channelId, conversationId: channelId, participants },
    routing: onlyUsers(...participants),
  })
}

/** Who is told of what happens to a message of this channel or conversation. */
export async function messageAudience(trx: Transaction, channel: ChannelRow): Promise<Routing> {
  return channel.kind === 'direct' ? onlyUsers(...(await findParticipants(trx, channel.id))) : audienceOf(channel)
}
