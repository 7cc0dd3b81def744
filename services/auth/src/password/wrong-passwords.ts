import { auditFailedSignIn, auditLockout, countWrongGuess, type Guess, type GuessScope } from '@parley/accounts'
import type { Transaction } from '@parley/database'
import { logFailedSignIn, logSignInLimit } from '@parley/service'
import type { FastifyRequest } from 'fastify'

const method = 'password'

interface WrongPassword {
  /** The account whose password was guessed; undefined when there is none. */
  userId: string | undefined
  /** A constant with the details, for the audit log. */
  reason?: string
}

/**
 * Counts a wrong password, and records it in the audit log. Returns the scopes whose limit it has reached.
 * @throws ApiError 429 as `countWrongGuess`.
 */
export async function recordWrongPassword(
  trx: Transaction,
  guess: Guess,
  { userId, reason }: WrongPassword,
): Promise<GuessScope[]> {
  const reached = await countWrongGuess(trx, guess)
  const { ip, now } = guess
  await auditFailedSignIn(trx, { method, ...(reason !== undefined && { reason }), userId, ip, now })
  for (const scope of reached) await auditLockout(trx, { scope, userId, ip, now })
  return reached
}

/** Logs a wrong password, after the transaction that counted it. */
export function logWrongPassword(
  request: FastifyRequest,
  { userId, reason = 'wrong password', reached }: WrongPassword & { reached: readonly GuessScope[] },
): void {
  logFailedSignIn(request, { method, reason, userId })
  for (const scope of reached) logSignInLimit(request, { scope, userId })
}
