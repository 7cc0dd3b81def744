import { unavailable } from '@parley/contract'
import { hashPassword, type PasswordCost, verifyNoPassword, verifyPassword } from './passwords.ts'

export interface PasswordHasherOptions {
  /** Derivations under way at once. Each takes a thread of Node's four, which name look-ups and files need too. 2 unless given. */
  atOnce?: number
  /** How many may wait beyond that. 64 unless given: some seconds' work. */
  waiting?: number
  /** Of new hashes. */
  cost?: PasswordCost
  /** Called for each derivation that is done, or `failed` because too many waited. */
  onOutcome?: (outcome: 'completed' | 'failed') => void
}

export interface PasswordHasher {
  /** As `hashPassword`. @throws ApiError 503 when too many wait already. */
  hash(password: string): Promise<string>
  /**
   * As `verifyPassword`; without a hash it takes the same time and answers false.
   * @throws ApiError 503 when too many wait already.
   */
  verify(password: string, hash: string | null | undefined): Promise<boolean>
  /** Derivations begun since the start. */
  readonly begun: number
}

/** Derives passwords, a few at a time: however many sign in at once, the process has time and memory for everything else. */
export function createPasswordHasher({
  atOnce = 2,
  waiting = 64,
  cost,
  onOutcome = () => {},
}: PasswordHasherOptions = {}): PasswordHasher {
  const queue: (() => void)[] = []
  let running = 0
  let begun = 0

  async function inTurn<T>(derive: () => Promise<T>): Promise<T> {
    if (running < atOnce) running++
    else await untilCalled()
    begun++
    try {
      const derived = await derive()
      onOutcome('completed')
      return derived
    } finally {
      // The place goes to whoever is next, so nobody who comes just now slips in between.
      const next = queue.shift()
      if (next) next()
      else running--
    }
  }

  function untilCalled(): Promise<void> {
    if (queue.length >= waiting) {
      onOutcome('failed')
      throw unavailable('Too many people are signing in right now, please try again', 5)
    }
    return new Promise((resolve) => queue.push(resolve))
  }

  return {
    hash: (password) => inTurn(() => hashPassword(password, cost)),
    verify: (password, hash) =>
      inTurn(() => (hash ? verifyPassword(password, hash) : verifyNoPassword(password, cost))),
    get begun() {
      return begun
    },
  }
}
