import { isBot, lockCallerAsAdmin } from '@parley/accounts'
import { forbidden, notFound } from '@parley/contract'
import { isRowId, type Reader, type SubscriptionRow, type Transaction } from '@parley/database'
import { type Caller, requireScope } from '@parley/identity'
import { findSubscription } from './subscriptions.queries.ts'

/** @throws ApiError 403 unless this is the id of a bot that was not removed. */
export async function requireBot(db: Reader, id: string): Promise<string> {
  if (!(await isBot(db, id))) throw forbidden('Only bots have subscriptions. An admin gives the id of the bot in botId')
  return id
}

/** The subscription, for its bot and for admins. @throws ApiError 404 when there is none, 403 for other callers. */
export async function accessSubscription(db: Reader, caller: Caller, id: string): Promise<SubscriptionRow> {
  const row = isRowId(id) ? await findSubscription(db, id) : undefined
  if (!row) throw notFound('subscription')
  if (row.botId !== caller.userId && !caller.isAdmin)
    throw forbidden('Only admins and the bot of a subscription have access to it')
  return row
}

/** An API token of an admin needs the scope `admin` to change a subscription of a bot. @throws ApiError 403 */
export function requireScopeToChange(caller: Caller, botId: string): void {
  if (caller.userId !== botId) requireScope(caller, 'admin')
}

/**
 * Makes sure that the caller keeps access until the end of the transaction. An admin is locked, so that they stay an admin. A bot always
 * has access to its own subscriptions. @throws as `requireScopeToChange` and `lockCallerAsAdmin`.
 */
export async function keepAccess(
  trx: Transaction,
  { caller, botId, now }: { caller: Caller; botId: string; now: number },
): Promise<void> {
  requireScopeToChange(caller, botId)
  if (caller.userId !== botId) await lockCallerAsAdmin(trx, { caller, now })
}
