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

/** How many messages of a channel are pinned. The channel must be locked. Served by messages_pinned. */
export async function countPinned(trx: Transaction, channelId: string): Promise<number> {
  const { count } = await trx
    .selectFrom('messages')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('channelId', '=', channelId)
    .where('pinnedAt', 'is not', null)
    .where('deletedAt', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

export const updatePinnedAt = (trx: Transaction, messageId: string, pinnedAt: number | null) =>
  trx
    .updateTable('messages')
    .set(({ eb }) => ({ pinnedAt, rev: eb('rev', '+', 1) }))
    .where('id', '=', messageId)
    .execute()
