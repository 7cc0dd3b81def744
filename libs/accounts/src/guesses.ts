import { tooMany } from '@parley/contract'
import type { Reader, Transaction } from '@parley/database'
import { type AttemptLimit, clearAttemptsOfAccount, findWait, tryAttempt } from './attempts.ts'
import { countedSpelling } from './emails.ts'
import { networkOf } from './networks.ts'

/** One attempt to sign in with a password. */
export interface Guess {
  /** The result of `readEmail`. There need not be an account with it. */
  email: string
  ip: string
  /** The name of a known device of this account; undefined for any other device. */
  device?: string | undefined
  now: number
}

/** The scope of a counter of wrong passwords. */
export type GuessScope = 'account and network' | 'account' | 'network' | 'device'

interface Counter {
  scope: GuessScope
  limit: AttemptLimit
  subject: string
  account?: string
}

/**
 * The counters of a guess. A stranger who guesses must not lock the owner out. So guesses count for account and network
 * together, and a known device of the owner has only a counter of its own. The counter for the account alone stops
 * guesses from many networks.
 */
function countersOf({ ip, device, ...guess }: Guess): Counter[] {
  const email = countedSpelling(guess.email)
  const network = networkOf(ip)
  if (device !== undefined) {
    return [{ scope: 'device', limit: limits.device, subject: `${email} ${device}`, account: email }]
  }
  return [
    // In the order in which `clearAttemptsOfAccount` locks the rows.
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
 * Refuses further attempts after too many wrong passwords. The right password is refused too, so that guessing cannot
 * continue. @throws ApiError 429
 */
export async function refuseTooManyGuesses(db: Reader, guess: Guess): Promise<void> {
  for (const { limit, subject } of countersOf(guess)) refuseFor(await findWait(db, limit, subject, guess.now))
}

/**
 * Counts a wrong password. The count is exact, also for concurrent guesses. Returns the scopes whose limit this guess
 * has reached. Further guesses in these scopes are refused.
 * @throws ApiError 429 when one of the limits was reached in the meantime. The response must then not reveal that the
 * password was wrong.
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

/** Deletes the counters of an account, because nobody has guessed its new password yet. */
export const clearGuesses = (trx: Transaction, email: string) => clearAttemptsOfAccount(trx, countedSpelling(email))

function refuseFor(seconds: number) {
  if (seconds > 0) throw tooMany('Too many wrong passwords. Please try again later', seconds)
}
