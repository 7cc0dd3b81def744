import { audit, type Transaction } from '@parley/database'
import { type AttemptLimit, networkOf, tryAttempt } from './attempts.ts'
import type { GuessScope } from './guesses.ts'
import type { SignInMethod } from './sessions.ts'

/** The actor of an entry about somebody who has not signed in. */
const anonymous = 'anonymous'
/** The target when nobody has the address. The address is not stored, because people mistype passwords into that field. */
const unknown = 'unknown'

export interface FailedSignIn {
  method: SignInMethod
  /** What was tried, such as an address. One network has one entry for it in 15 minutes. */
  subject: string
  /** Whose account it was; undefined when there is no such account. */
  userId: string | undefined
  ip: string
  now: number
}

/**
 * Anybody can fail to sign in, and the audit log is never deleted. So it gets only the first failure of a network at a subject in 15
 * minutes, and 100 failures in 15 minutes in all. The log has every failure.
 */
const failuresOfNetwork: AttemptLimit = { kind: 'audited failure from network', most: 1 }
const failuresInAll: AttemptLimit = { kind: 'audited failure', most: 100 }
const lockoutsInAll: AttemptLimit = { kind: 'audited lockout', most: 100 }
const theServer = 'server'

/** Writes a failed sign-in to the audit log, within the bounds above. The work does not depend on whether the account exists. */
export async function auditFailedSignIn(trx: Transaction, failed: FailedSignIn): Promise<void> {
  const { method, subject, userId = unknown, ip, now } = failed
  const first = await tryAttempt(trx, failuresOfNetwork, { subject: `${method} ${subject} ${networkOf(ip)}`, now })
  if (first.seconds > 0) return
  const { seconds, count } = await tryAttempt(trx, failuresInAll, { subject: theServer, now })
  if (seconds > 0) return
  await audit(trx, {
    action: 'sign-in.fail',
    actorId: anonymous,
    targetType: 'user',
    targetId: userId,
    metadata: { method, ...onlyInLog(count === failuresInAll.most) },
    ip,
  })
}

/** Writes to the audit log that a limit of wrong passwords was reached: 100 in 15 minutes in all. */
export async function auditLockout(
  trx: Transaction,
  { scope, userId = unknown, ip, now }: { scope: GuessScope; userId: string | undefined; ip: string; now: number },
): Promise<void> {
  const { seconds, count } = await tryAttempt(trx, lockoutsInAll, { subject: theServer, now })
  if (seconds > 0) return
  const target =
    scope === 'network'
      ? { targetType: 'network' as const, targetId: networkOf(ip) }
      : { targetType: 'user' as const, targetId: userId }
  await audit(trx, {
    action: 'sign-in.lock',
    actorId: anonymous,
    ...target,
    metadata: { scope, ...onlyInLog(count === lockoutsInAll.most) },
    ip,
  })
}

/** Marks the last entry of its kind for now. */
const onlyInLog = (isLast: boolean) => (isLast ? { furtherOnlyInLog: true } : {})
