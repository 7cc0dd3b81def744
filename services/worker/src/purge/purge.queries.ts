import { releaseUploads } from '@parley/blobs'
import { anyOf, type Database, isRowId, type Reader, type Transaction } from '@parley/database'

/** Whether the channel was deleted. Only then it is purged. */
export const isDeleted = async (db: Reader, channelId: string): Promise<boolean> =>
  isRowId(channelId) && (await selectDeleted(db, channelId).executeTakeFirst()) !== undefined

/** Locks the channel, so that only one worker at a time purges it. Two would delete the same rows. */
export const lockDeletedChannel = (trx: Transaction, channelId: string) =>
  selectDeleted(trx, channelId).forUpdate().execute()

/**
 * Waits for the current step of the search projection. It may have read messages of the channel before the channel was
 * deleted, and not have stored their copies yet. Every later step finds the channel deleted.
 */
export const awaitProjection = (db: Database) => db.selectFrom('searchProgress').select('pos').forUpdate().execute()

const selectDeleted = (db: Reader, channelId: string) =>
  db.selectFrom('channels').select('id').where('id', '=', channelId).where('deletedAt', 'is not', null)

/** The next messages after a `seq`, including deleted ones, without replies. Served by messages_of_channel. */
export const listMessagesAfter = (
  db: Reader,
  { channelId, afterSeq, limit }: { channelId: string; afterSeq: number; limit: number },
): Promise<{ id: string; seq: number }[]> =>
  db
    .selectFrom('messages')
    .select(['id', 'seq'])
    .where('channelId', '=', channelId)
    .where('threadId', 'is', null)
    .where('seq', '>', afterSeq)
    .orderBy('seq')
    .limit(limit)
    .execute()

/** Deletes at most `limit` of the replies to these messages. Returns their number. Served by messages_of_thread. */
export async function deleteReplies(
  trx: Transaction,
  parentIds: string[],
  { limit, now }: { limit: number; now: number },
): Promise<number> {
  const replies = await trx
    .selectFrom('messages')
    .select('id')
    .where('threadId', '=', anyOf(parentIds))
    .limit(limit)
    .execute()
  const ids = replies.map(({ id }) => id)
  if (ids.length > 0) await deleteMessages(trx, ids, now)
  return ids.length
}

/**
 * Deletes messages, their reactions, threads and copies for search, but not their replies. The clean-up deletes their
 * uploads a day later.
 */
export async function deleteMessages(trx: Transaction, ids: string[], now: number): Promise<void> {
  await releaseUploads(trx, ids, now)
  await trx.deleteFrom('reactions').where('messageId', '=', anyOf(ids)).execute()
  await trx.deleteFrom('threads').where('messageId', '=', anyOf(ids)).execute()
  await trx.deleteFrom('messageSearch').where('messageId', '=', anyOf(ids)).execute()
  await trx.deleteFrom('messages').where('id', '=', anyOf(ids)).execute()
}

/**
 * Deletes the read states and preferences that the next people after `after` have in the channel, in the order of the primary keys of both
 * tables. Returns the last of these people; undefined when there are no more.
 */
export async function deleteRowsOfPeople(
  db: Database,
  { channelId, after, limit }: { channelId: string; after: string | undefined; limit: number },
): Promise<string | undefined> {
  const people = await db
    .selectFrom('users')
    .select('id')
    .$if(after !== undefined, (query) => query.where('id', '>', after!))
    .orderBy('id')
    .limit(limit)
    .execute()
  const ids = people.map(({ id }) => id)
  for (const table of ['readStates', 'channelPreferences'] as const) {
    await db.deleteFrom(table).where('userId', '=', anyOf(ids)).where('channelId', '=', channelId).execute()
  }
  return ids.at(-1)
}

/** Deletes the remaining rows of the channel. Its webhooks have no messages any more. */
export async function deleteOtherRows(trx: Transaction, channelId: string): Promise<void> {
  await trx.deleteFrom('channelGroups').where('channelId', '=', channelId).execute()
  await trx.deleteFrom('readFolds').where('channelId', '=', channelId).execute()
  await trx.deleteFrom('webhooks').where('channelId', '=', channelId).execute()
}
