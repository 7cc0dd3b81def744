import { canReadById } from '@parley/access'
import type { Reader, Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { pageOf, type WantedPage } from '../newest-messages.ts'

interface Key {
  userId: string
  messageId: string
}

/** The messages that the caller has saved and may read, newest message first. */
export const listSaved = async (db: Reader, caller: Caller, { limit, before }: WantedPage) =>
  pageOf(db, await savedIds(db, caller, { limit: limit + 1, before }), limit)

/** The ids of the messages that the caller has saved and may read, newest message first. Served by the primary key of saved_messages. */
export async function savedIds(db: Reader, caller: Caller, { limit, before }: WantedPage): Promise<string[]> {
  const rows = await db
    .selectFrom('savedMessages as saved')
    .innerJoin('messages as m', 'm.id', 'saved.messageId')
    .select('saved.messageId')
    .where('saved.userId', '=', caller.userId)
    .where('m.deletedAt', 'is', null)
    .where(canReadById('m.channelId', caller))
    .$if(before !== undefined, (query) => query.where('saved.messageId', '<', before!))
    .orderBy('saved.messageId', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ messageId }) => messageId)
}

export async function isSaved(db: Reader, { userId, messageId }: Key): Promise<boolean> {
  const row = await db
    .selectFrom('savedMessages')
    .select('messageId')
    .where('userId', '=', userId)
    .where('messageId', '=', messageId)
    .executeTakeFirst()
  return row !== undefined
}

/** Returns whether it was not saved before. */
export async function insertSaved(trx: Transaction, key: Key): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('savedMessages')
    .values(key)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** Returns whether it was saved before. */
export async function deleteSaved(trx: Transaction, { userId, messageId }: Key): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('savedMessages')
    .where('userId', '=', userId)
    .where('messageId', '=', messageId)
    .executeTakeFirst()
  return numDeletedRows === 1n
}
