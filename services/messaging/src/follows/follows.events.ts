import { onlyUsers, type ThreadReadState } from '@parley/contract'
import { record, recordAll, type Transaction } from '@parley/database'

/** Records the state of a thread for people who follow it. The others get no event. */
export const recordReadState = (trx: Transaction, userIds: readonly string[], payload: ThreadReadState) =>
  record(trx, { type: 'THREAD_READ_UPDATE', payload, routing: onlyUsers(...userIds) })

/** Records the states of several threads for one person. */
export function recordReadStates(trx: Transaction, userId: string, states: readonly ThreadReadState[]) {
  const routing = onlyUsers(userId)
  return recordAll(
    trx,
    states.map((payload) => ({ type: 'THREAD_READ_UPDATE', payload, routing })),
  )
}
