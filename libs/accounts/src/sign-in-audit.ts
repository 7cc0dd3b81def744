import { audit, type Transaction } from '@parley/database'
import { type AttemptLimit, everybody, tryAttempt } from './attempts.ts'
import type { GuessScope } from './guesses.ts'
import { networkOf } from './networks.ts'
import type { SignInMethod } from './sessions.ts'

/** The actor in an entry about somebody who has not signed in. */
const anonymous = 'anonymous'
/**
 * The target when nobody has the address. The address is not stored, because people sometimes type their password into
 * that field.
 */
const unknown = 'unknown'

export interface FailedSignIn {
  /** The failed step: a way to sign in, or the second factor. */
  method: SignInMethod | 'second factor'
  /** A constant with the details. */
  reason?: string
  /** Whose account it was; undefined when there is no such account. */
  userId: string | undefined
  ip: string
  now: number
}

/**
 * Anybody can cause failed sign-ins, and the audit log is never deleted. So it gets at most 100 failures of an account
 * in an hour, where all addresses without an account count as one account, and at most 1,000 failures in an hour in
 * all. The process log has every failure.
 */
const hourMs = 3_600_000
const failuresOfAccount: AttemptLimit = { kind: 'audited failure of account', most: 100, windowMs: hourMs }
const failuresInAll: AttemptLimit = { kind: 'audited failure', most: 1_000, windowMs: hourMs }
const lockoutsInAll: AttemptLimit = { kind: 'audited lockout', most: 100 }

/** Writes a failed sign-in to the audit log, within the limits above. The work is the same whether the account exists or not. */
export async function auditFailedSignIn(trx: Transaction, failed: FailedSignIn): Promise<void> {
  const { method, reason, userId = unknown, ip, now } = failed
  const ofAccount = await tryAttempt(trx, failuresOfAccount, { subject: userId, now })
  if (ofAccount.seconds > 0) return
  const inAll = await tryAttempt(trx, failuresInAll, { subject: everybody, now })
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

/** Writes to the audit log that a limit of wrong passwords was reached. There are at most 100 such entries in 15 minutes. */
export async function auditLockout(
  trx: Transaction,
  {
    scope,
    userId = unknown,
    ip,
    now,
  }: { scope: GuessScope | 'second factor'; userId: string | undefined; ip: string; now: number },
): Promise<void> {
  const { seconds, count } = await tryAttempt(trx, lockoutsInAll, { subject: everybody, now })
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

/** Marks an entry after which further ones are only in the process log. */
const onlyInLog = (isLast: boolean) => (isLast ? { furtherOnlyInLog: true } : {})
