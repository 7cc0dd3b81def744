import type { Transaction } from '@parley/database'
import { sql } from 'kysely'

interface HeldReaction {
  messageId: string
  reaction: string
  userId: string
}

/**
 * Whether adding it would exceed the number of different reactions that a message may have. The message must be locked. Served
 * by the primary key; they are counted only if the message does not have this one yet.
 */
export async function isOneTooMany(
  trx: Transaction,
  { messageId, reaction }: HeldReaction,
  most: number,
): Promise<boolean> {
  const { rows } = await sql<{ isTooMany: boolean }>`
    select not exists (select from reactions where message_id = ${messageId} and reaction = ${reaction})
      and (select count(distinct reaction) from reactions where message_id = ${messageId}) >= ${most}
      as "isTooMany"`.execute(trx)
  return rows[0]!.isTooMany
}

/** Answers false when it was there already. */
export async function insertReaction(trx: Transaction, held: HeldReaction): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('reactions')
    .values(held)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

/** Answers false when it was not there. */
export async function deleteReaction(
  trx: Transaction,
  { messageId, reaction, userId }: HeldReaction,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('reactions')
    .where('messageId', '=', messageId)
    .where('reaction', '=', reaction)
    .where('userId', '=', userId)
    .executeTakeFirstOrThrow()
  return numDeletedRows === 1n
}

/** Clients keep the message with the higher `rev`. Answers the new one. */
export async function raiseRev(trx: Transaction, messageId: string): Promise<number> {
  const { rev } = await trx
    .updateTable('messages')
    .set(({ eb }) => ({ rev: eb('rev', '+', 1) }))
    .where('id', '=', messageId)
    .returning('rev')
    .executeTakeFirstOrThrow()
  return rev
}
