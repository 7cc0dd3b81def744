import type { Transaction } from '@parley/database'
import { sql } from 'kysely'

interface ReactionKey {
  messageId: string
  reaction: string
  userId: string
}

/**
 * Whether one more reaction exceeds the maximum number of different reactions of a message. The message must be locked.
 * Served by the primary key. Reactions are counted only if the message does not have this one yet.
 */
export async function exceedsReactionLimit(
  trx: Transaction,
  { messageId, reaction }: ReactionKey,
  most: number,
): Promise<boolean> {
  const { rows } = await sql<{ isTooMany: boolean }>`
    select not exists (select from reactions where message_id = ${messageId} and reaction = ${reaction})
      and (select count(distinct reaction) from reactions where message_id = ${messageId}) >= ${most}
      as "isTooMany"`.execute(trx)
  return rows[0]!.isTooMany
}

/** Returns false when the person has already reacted with it. */
export async function insertReaction(trx: Transaction, key: ReactionKey): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('reactions')
    .values(key)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

/** Returns false when the person has not reacted with it. */
export async function deleteReaction(trx: Transaction, { messageId, reaction, userId }: ReactionKey): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('reactions')
    .where('messageId', '=', messageId)
    .where('reaction', '=', reaction)
    .where('userId', '=', userId)
    .executeTakeFirstOrThrow()
  return numDeletedRows === 1n
}

/** Raises the `rev` of a message and returns it. Of two copies, clients keep the one with the higher `rev`. */
export async function raiseRev(trx: Transaction, messageId: string): Promise<number> {
  const { rev } = await trx
    .updateTable('messages')
    .set(({ eb }) => ({ rev: eb('rev', '+', 1) }))
    .where('id', '=', messageId)
    .returning('rev')
    .executeTakeFirstOrThrow()
  return rev
}
