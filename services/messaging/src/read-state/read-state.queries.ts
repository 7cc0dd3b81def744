import type { ReadState } from '@parley/contract'
import type { Reader, Transaction } from '@parley/database'
import { readStateOf } from '@parley/read-states'

/** Where somebody stands in a channel or conversation. */
export async function findReadState(db: Reader, channelId: string, userId: string): Promise<ReadState> {
  const { readState } = await db
    .selectFrom('channels')
    .select(readStateOf(userId).as('readState'))
    .where('id', '=', channelId)
    .executeTakeFirstOrThrow()
  return readState
}

/** What is read stays read: of several devices the one that is furthest counts. */
export const raiseReadSeq = (trx: Transaction, row: { userId: string; channelId: string; readSeq: number }) =>
  trx
    .insertInto('readStates')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['userId', 'channelId'])
        .doUpdateSet({ readSeq: row.readSeq })
        .where('readStates.readSeq', '<', row.readSeq),
    )
    .execute()
