import { type ApiError, invalid } from '@parley/contract'
import { type ChannelRow, isRowId, type Reader } from '@parley/database'
import type { MessageBody } from '../messages.schema.ts'

/** The id of the message that a body quotes; null when it quotes none. */
export const quoteOf = ({ quotedMessageId }: MessageBody): string | null => quotedMessageId || null

/** @throws ApiError 400 unless the message may be quoted in this channel. */
export async function requireQuotable(db: Reader, channel: ChannelRow, messageId: string): Promise<void> {
  if (!isRowId(messageId)) throw unquotable(channel)
  const message = await db
    .selectFrom('messages')
    .select('id')
    .where('id', '=', messageId)
    .where('channelId', '=', channel.id)
    .where('deletedAt', 'is', null)
    .executeTakeFirst()
  if (!message) throw unquotable(channel)
}

/** The refusal of a message that cannot be quoted. It does not say whether the message exists. */
export const unquotable = ({ kind }: Pick<ChannelRow, 'kind'>): ApiError =>
  invalid(`quotedMessageId must be the id of a message in this ${kind === 'direct' ? 'conversation' : 'channel'}`)
