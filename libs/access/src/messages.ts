import { notFound } from '@parley/contract'
import { type ChannelRow, isRowId, type MessageRow, type Reader } from '@parley/database'
import type { Caller } from '@parley/identity'
import { type AccessOptions, findChannel, requireAccess } from './channels.ts'

export interface AccessedMessage {
  message: MessageRow
  channel: ChannelRow
}

/**
 * The message with this id and its channel, if the caller may read it. With `lock`, first the channel's row is locked,
 * then the message's: the order that every writer keeps.
 * @throws ApiError 404 when it does not exist or was deleted, 403 when the caller has no access to its channel.
 */
export async function accessMessage(
  db: Reader,
  caller: Caller,
  messageId: string,
  { lock = false }: AccessOptions = {},
): Promise<AccessedMessage> {
  const place = await findPlace(db, messageId)
  const channel = place && (await findChannel(db, place.channelId, lock))
  if (!channel) throw notFound('message')
  await requireAccess(db, caller, channel)
  const message = await findMessage(db, messageId, lock)
  if (!message) throw notFound('message')
  return { message, channel }
}

const findPlace = async (db: Reader, messageId: string) =>
  isRowId(messageId)
    ? db
        .selectFrom('messages')
        .select('channelId')
        .where('id', '=', messageId)
        .where('deletedAt', 'is', null)
        .executeTakeFirst()
    : undefined

const findMessage = (db: Reader, messageId: string, lock: boolean) => {
  const query = db.selectFrom('messages').selectAll().where('id', '=', messageId).where('deletedAt', 'is', null)
  return lock ? query.forUpdate().executeTakeFirst() : query.executeTakeFirst()
}
