import { nobody } from '@parley/contract'
import { audit, isRowId, recordControl, type Transaction } from '@parley/database'
import { auditDeletedToken } from './api-tokens.ts'

/** Why a session ends. `replaced`: the person began more sessions than allowed. `reused`: an old refresh token was used. */
export type SessionEnd =
  | 'logout'
  | 'revoked'
  | 'logout at the provider'
  | 'replaced'
  | 'expired'
  | 'reused'
  | 'password changed'
  | 'second factor set up'
  | 'address proven'
  | 'removed'
  | 'deactivated'

/**
 * Whether the API tokens of the person end too. After a logout or a change of the password, the person's programs keep
 * running.
 */
const endsTokens: Record<SessionEnd, boolean> = {
  logout: false,
  revoked: false,
  replaced: false,
  expired: false,
  reused: false,
  'logout at the provider': false,
  'password changed': false,
  'second factor set up': false,
  'address proven': true,
  removed: true,
  deactivated: true,
}

/** The sessions of one person that end: all of them, unless `only` or `except` is given. */
interface SessionsToEnd {
  userId: string
  reason: SessionEnd
  /** Who ends them, if not the person. */
  actorId?: string | undefined
  ip: string | null
  /** The ids of the sessions that end. */
  only?: string[]
  /** The id of a session that does not end. */
  except?: string
  now: number
}

/**
 * Ends sessions of one person. With the commit their tokens stop working and their streams end. Returns the ids of the
 * sessions that had not ended before. Each gets an entry in the audit log, except expired ones. When an account ends,
 * its API tokens end too.
 */
export async function endSessions(trx: Transaction, input: SessionsToEnd): Promise<string[]> {
  const ended = await markSessionsEnded(trx, input)
  if (ended.length > 0) await recordControl(trx, { ...nobody, endSessions: ended })
  return ended
}

/** Like `endSessions`, for callers that add `endSessions` to an event of their own, which ends the streams. */
export async function markSessionsEnded(trx: Transaction, input: SessionsToEnd): Promise<string[]> {
  const { userId, reason, actorId = userId, only, except, ip, now } = input
  if (only === undefined) await forgetSignIns(trx, input)
  const ids = only?.filter(isRowId)
  if (ids?.length === 0) return []
  const rows = await trx
    .updateTable('sessions')
    .set({ endedAt: now })
    .where('userId', '=', userId)
    .where('endedAt', 'is', null)
    .$if(ids !== undefined, (query) => query.where('id', 'in', ids!))
    .$if(except !== undefined, (query) => query.where('id', '<>', except!))
    .$if(!endsTokens[reason], (query) => query.where('tokenHash', 'is', null))
    .returning(['id', 'scopes', 'tokenName'])
    .execute()
  if (reason !== 'expired') {
    for (const { id: targetId, scopes, tokenName: name } of rows) {
      if (scopes) await auditDeletedToken(trx, { tokenId: targetId, name, userId, actorId, ip, reason })
      else
        await audit(trx, { action: 'session.end', actorId, targetType: 'session', targetId, metadata: { reason }, ip })
    }
  }
  return rows.map(({ id }) => id)
}

/** Ends sign-ins that wait for a second factor. When all sessions end, all known devices are forgotten too. */
async function forgetSignIns(trx: Transaction, { userId, except }: SessionsToEnd) {
  if (except === undefined) await forgetDevices(trx, userId)
  await trx.deleteFrom('mfaAttempts').where('userId', '=', userId).execute()
}

/** Forgets the known devices of the person. */
export async function forgetDevices(trx: Transaction, userId: string): Promise<void> {
  await trx
    .updateTable('users')
    .set(({ eb }) => ({ deviceGeneration: eb('deviceGeneration', '+', 1) }))
    .where('id', '=', userId)
    .execute()
}
