import { unavailable } from '@parley/contract'
import { createFairQueue, QueueFull } from './fair-queue.ts'
import { hashPassword, type PasswordCost, verifyNoPassword, verifyPassword } from './passwords.ts'

export interface PasswordHasherOptions {
  /** Concurrent derivations, 2 unless given. Each takes one of Node's four threads, which name look-ups and files need too. */
  atOnce?: number
  /** How many may wait for each purpose, 64 unless given: some seconds of work. */
  waiting?: number
  /** Of new hashes. */
  cost?: PasswordCost
  /** Called for each derivation that is done, or `failed` because too many waited. */
  onOutcome?: (outcome: 'completed' | 'failed') => void
}

/** For whom a password is derived. */
export interface Derivation {
  /** Purposes have separate queues and get turns alternately: people who register do not delay those who sign in. */
  purpose: 'sign-in' | 'registration' | 'administration'
  /** The network or person that makes the request. Clients get turns alternately. */
  client: string
}

export interface PasswordHasher {
  /** As `hashPassword`. @throws ApiError 503 when too many wait already. */
  hash(password: string, derivation: Derivation): Promise<string>
  /**
   * As `verifyPassword`; without a hash it takes the same time and answers false.
   * @throws ApiError 503 when too many wait already.
   */
  verify(password: string, hash: string | null | undefined, derivation: Derivation): Promise<boolean>
  /** Derivations begun since the start. */
  readonly begun: number
}

/** Derives passwords, a few at a time, so that many sign-ins at once leave time and memory for everything else. */
export function createPasswordHasher({
  atOnce = 2,
  waiting = 64,
  cost,
  onOutcome = () => {},
}: PasswordHasherOptions = {}): PasswordHasher {
  const queue = createFairQueue({ atOnce, waiting })
  let begun = 0

  async function inTurn<T>({ purpose, client }: Derivation, derive: () => Promise<T>): Promise<T> {
    try {
      return await queue.run({ lane: purpose, client }, async () => {
        begun++
        const derived = await derive()
        onOutcome('completed')
        return derived
      })
    } catch (error) {
      if (!(error instanceof QueueFull)) throw error
      onOutcome('failed')
      throw unavailable('Too many people are signing in right now. Please try again', 5)
    }
  }

  return {
    hash: (password, derivation) => inTurn(derivation, () => hashPassword(password, cost)),
    verify: (password, hash, derivation) =>
      inTurn(derivation, () => (hash ? verifyPassword(password, hash) : verifyNoPassword(password, cost))),
    get begun() {
      return begun
    },
  }
}
