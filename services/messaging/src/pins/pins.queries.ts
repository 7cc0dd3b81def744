import type { Message } from '@parley/contract'
import type { Reader, Transaction } from '@parley/database'
import { selectMessages } from '../messages/messages.queries.ts'

/** Pinned messages of a channel, newest pin first. Served by the partial index messages_pinned. */
export const listPinned = (db: Reader, channelId: string): Promise<Message[]> =>
  selectMessages(db)
    .where('messages.channelId', '=', channelId)
    .where('messages.pinnedAt', 'is not', null)
    .orderBy('messages.pinnedAt', 'desc')
    .orderBy('messages.seq', 'desc')
    .execute()

export const updatePinnedAt = (trx: Transaction, messageId: string, pinnedAt: number | null) =>
  trx
    .updateTable('messages')
    .set(({ eb }) => ({ pinnedAt, rev: eb('rev', '+', 1) }))
    .where('id', '=', messageId)
    .execute()
