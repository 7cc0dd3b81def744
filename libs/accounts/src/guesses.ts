import { tooMany } from '@parley/contract'
import type { Reader, Transaction } from '@parley/database'
import { type AttemptLimit, clearAttemptsOfAccount, findWait, networkOf, tryAttempt } from './attempts.ts'

/** Somebody tries a password. */
export interface Guess {
  /** As `readEmail` answers it, whether anybody has it or not. */
  email: string
  ip: string
  /** Names a device on which somebody has signed in to this account before; undefined for any other device. */
  device?: string | undefined
  now: number
}

/** What wrong passwords are counted for. */
export type GuessScope = 'account and network' | 'account' | 'network' | 'device'

interface Counter {
  scope: GuessScope
  limit: AttemptLimit
  subject: string
  account?: string
}

/**
 * A stranger who guesses must not lock the owner out. So guesses count for account and network together, and a known device of the
 * owner has only a counter of its own. The counter of the account alone stops guesses that come from many networks.
 */
function countersOf({ email, ip, device }: Guess): Counter[] {
  const network = networkOf(ip)
  if (device !== undefined) {
    return [{ scope: 'device', limit: limits.device, subject: `${email} ${device}`, account: email }]
  }
  return [
    // In the order of `clearAttemptsOfAccount`.
    { scope: 'account', limit: limits.account, subject: email, account: email },
    { scope: 'account and network', limit: limits.accountAndNetwork, subject: `${email} ${network}`, account: email },
    { scope: 'network', limit: limits.network, subject: network },
  ]
}

const limits = {
  device: { kind: 'wrong password on device', most: 10 },
  accountAndNetwork: { kind: 'wrong password of account from network', most: 10 },
  // NIST SP 800-63B, 5.2.2, allows a hundred failures in a row.
  account: { kind: 'wrong password of account from anywhere', most: 100 },
  network: { kind: 'wrong password from network', most: 100 },
} satisfies Record<string, AttemptLimit>

/**
 * Refuses everybody after too many wrong passwords, also with the right one: otherwise guessing could go on. @throws ApiError 429
 */
export async function refuseTooManyGuesses(db: Reader, guess: Guess): Promise<void> {
  for (const { limit, subject } of countersOf(guess)) refuseFor(await findWait(db, limit, subject, guess.now))
}

/**
 * Counts a wrong password, exactly also for concurrent guesses. Answers the limits that this guess has reached: further guesses are
 * refused there.
 * @throws ApiError 429 when one of the limits was reached in the meantime. The answer must then not tell that the password was wrong.
 */
export async function countWrongGuess(trx: Transaction, guess: Guess): Promise<GuessScope[]> {
  const reached: GuessScope[] = []
  for (const { scope, limit, ...of } of countersOf(guess)) {
    const { seconds, count } = await tryAttempt(trx, limit, { ...of, now: guess.now })
    refuseFor(seconds)
    if (count === limit.most) reached.push(scope)
  }
  return reached
}

/** Deletes the counters of an account: nobody has guessed its new password yet. */
export const clearGuesses = (trx: Transaction, email: string) => clearAttemptsOfAccount(trx, email)

function refuseFor(seconds: number) {
  if (seconds > 0) throw tooMany('Too many wrong passwords. Please try again later', seconds)
}
