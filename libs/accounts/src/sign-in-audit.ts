import { audit, type Transaction } from '@parley/database'
import { type AttemptLimit, networkOf, tryAttempt } from './attempts.ts'
import type { GuessScope } from './guesses.ts'
import type { SignInMethod } from './sessions.ts'

/** The actor of an entry about somebody who has not signed in. */
const anonymous = 'anonymous'
/** The target when nobody has the address. The address is not stored, because people mistype passwords into that field. */
const unknown = 'unknown'

export interface FailedSignIn {
  /** What was tried: a way to sign in, or the second factor. */
  method: SignInMethod | 'second factor'
  /** A constant that tells more. */
  reason?: string
  /** Whose account it was; undefined when there is no such account. */
  userId: string | undefined
  ip: string
  now: number
}

/**
 * Anybody can fail to sign in, and the audit log is never deleted. So it gets 100 failures of an account in an hour, failures at
 * addresses that nobody has as if they were one account, and 1,000 failures in an hour in all. The log has every failure.
 */
const hourMs = 3_600_000
const failuresOfAccount: AttemptLimit = { kind: 'audited failure of account', most: 100, windowMs: hourMs }
const failuresInAll: AttemptLimit = { kind: 'audited failure', most: 1_000, windowMs: hourMs }
const lockoutsInAll: AttemptLimit = { kind: 'audited lockout', most: 100 }
const theServer = 'server'

/** Writes a failed sign-in to the audit log, within the bounds above. The work does not depend on whether the account exists. */
export async function auditFailedSignIn(trx: Transaction, failed: FailedSignIn): Promise<void> {
  const { method, reason, userId = unknown, ip, now } = failed
  const ofAccount = await tryAttempt(trx, failuresOfAccount, { subject: userId, now })
  if (ofAccount.seconds > 0) return
  const inAll = await tryAttempt(trx, failuresInAll, { subject: theServer, now })
  if (inAll.seconds > 0) return
  const isLast = ofAccount.count === failuresOfAccount.most || inAll.count === failuresInAll.most
  await audit(trx, {
    action: 'login.failure',
    actorId: anonymous,
    targetType: 'user',
    targetId: userId,
    metadata: { method, ...(reason !== undefined && { reason }), ...onlyInLog(isLast) },
    ip,
  })
}

/** Writes to the audit log that a limit of wrong passwords was reached: 100 in 15 minutes in all. */
export async function auditLockout(
  trx: Transaction,
  {
    scope,
    userId = unknown,
    ip,
    now,
  }: { scope: GuessScope | 'second factor'; userId: string | undefined; ip: string; now: number },
): Promise<void> {
  const { seconds, count } = await tryAttempt(trx, lockoutsInAll, { subject: theServer, now })
  if (seconds > 0) return
  const target =
    scope === 'network'
      ? { targetType: 'network' as const, targetId: networkOf(ip) }
      : { targetType: 'user' as const, targetId: userId }
  await audit(trx, {
    action: 'login.lockout',
    actorId: anonymous,
    ...target,
    metadata: { scope, ...onlyInLog(count === lockoutsInAll.most) },
    ip,
  })
}

/** Marks the last entry of its kind for now. */
const onlyInLog = (isLast: boolean) => (isLast ? { furtherOnlyInLog: true } : {})
