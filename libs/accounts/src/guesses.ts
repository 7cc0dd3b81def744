import { tooMany } from '@parley/contract'
import type { Reader, Transaction } from '@parley/database'
import { type AttemptLimit, clearAttempts, countAttempt, findWait } from './attempts.ts'
import { networkOf } from './networks.ts'

/** Somebody tries a password. */
export interface Guess {
  /** As `readEmail` answers it, whether anybody has it or not. */
  email: string
  ip: string
  now: number
}

const ofAccount: AttemptLimit = { kind: 'wrong password of account', most: 10 }
const ofNetwork: AttemptLimit = { kind: 'wrong password from network', most: 100 }

/**
 * Refuses everybody, those with the right password too, while there were too many wrong ones: a limit that let the right one
 * through would be none. @throws ApiError 429
 */
export async function refuseTooManyGuesses(db: Reader, { email, ip, now }: Guess): Promise<void> {
  refuseFor(Math.max(await findWait(db, ofAccount, email, now), await findWait(db, ofNetwork, networkOf(ip), now)))
}

/**
 * Counts a wrong password: 10 per account and 100 per network in 15 minutes, exactly, however many are tried at once.
 * @throws ApiError 429 when one of the limits was reached meanwhile; whether the password was wrong must then stay untold.
 */
export async function countWrongGuess(trx: Transaction, { email, ip, now }: Guess): Promise<void> {
  refuseFor(await countAttempt(trx, ofAccount, email, now))
  refuseFor(await countAttempt(trx, ofNetwork, networkOf(ip), now))
}

/** A new password has not been guessed at yet. */
export const clearGuesses = (trx: Transaction, email: string) => clearAttempts(trx, ofAccount, email)

function refuseFor(seconds: number) {
  if (seconds > 0) throw tooMany('There were too many wrong passwords, please try again later', seconds)
}
