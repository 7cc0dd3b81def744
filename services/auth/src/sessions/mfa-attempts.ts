import { createHash, randomBytes } from 'node:crypto'
import type { SignInMethod } from '@parley/accounts'
import { attemptEnded } from '@parley/contract'
import { deleteSomeExpired, type MfaAttempts, type Reader, type Transaction } from '@parley/database'
import type { Selectable } from 'kysely'

/** A sign-in that waits for the second factor. The first factor was checked. */
type MfaAttempt = Selectable<MfaAttempts> & { method: SignInMethod }

const lifetimeMs = 600_000
const maxWrongAnswers = 5

/** Begins an attempt and returns its `mfaToken`, which is valid for ten minutes and only for `POST /auth/mfa`. */
export async function beginAttempt(
  trx: Transaction,
  { now, ...attempt }: { userId: string; method: SignInMethod; seconds: number; now: number },
): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  await trx
    .insertInto('mfaAttempts')
    .values({ ...attempt, tokenHash: digest(token), expiresAt: now + lifetimeMs })
    .execute()
  await deleteSomeExpired(trx, 'mfaAttempts', now)
  return token
}

/** @throws ApiError 401 when the attempt has ended. */
export async function findAttempt(db: Reader, token: string, now: number): Promise<MfaAttempt> {
  const attempt = await db
    .selectFrom('mfaAttempts')
    .selectAll()
    .where('tokenHash', '=', digest(token))
    .where('expiresAt', '>', now)
    .executeTakeFirst()
  if (!attempt) throw attemptEnded()
  return attempt as MfaAttempt
}

/** Ends an attempt. Call it under the lock of its person. */
export async function deleteAttempt(trx: Transaction, { tokenHash }: MfaAttempt): Promise<void> {
  await trx.deleteFrom('mfaAttempts').where('tokenHash', '=', tokenHash).execute()
}

/** Counts a wrong answer. The fifth one ends the attempt. Call it under the lock of its person. */
export async function countWrongAnswer(trx: Transaction, attempt: MfaAttempt): Promise<void> {
  const wrongAnswers = attempt.wrongAnswers + 1
  if (wrongAnswers >= maxWrongAnswers) return deleteAttempt(trx, attempt)
  await trx.updateTable('mfaAttempts').set({ wrongAnswers }).where('tokenHash', '=', attempt.tokenHash).execute()
}

const digest = (token: string) => createHash('sha256').update(token).digest()
