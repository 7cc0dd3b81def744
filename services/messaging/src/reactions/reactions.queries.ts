import type { Transaction } from '@parley/database'

interface HeldReaction {
  messageId: string
  reaction: string
  userId: string
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
