import { unavailable } from '@parley/contract'
import { createFairQueue, QueueFull } from './fair-queue.ts'
import { hashPassword, type PasswordCost, verifyNoPassword, verifyPassword } from './passwords.ts'

export interface PasswordHasherOptions {
  /**
   * Concurrent derivations, 2 unless given. Each uses one of Node's four worker threads, which DNS look-ups and file
   * access need too.
   */
  atOnce?: number
  /** The number of derivations that may wait for each purpose. The default is 64, which is some seconds of work. */
  waiting?: number
  /** The cost of new hashes. */
  cost?: PasswordCost
  /** Called for each derivation: `failed` when it was refused because too many were waiting. */
  onOutcome?: (outcome: 'completed' | 'failed') => void
}

/** The purpose and the client of a derivation. */
export interface Derivation {
  /** Purposes have separate queues that take turns, so registrations do not delay sign-ins. */
  purpose: 'sign-in' | 'registration' | 'administration'
  /** The network or person that makes the request. Clients take turns. */
  client: string
}

export interface PasswordHasher {
  /** Like `hashPassword`. @throws ApiError 503 when too many are waiting. */
  hash(password: string, derivation: Derivation): Promise<string>
  /**
   * Like `verifyPassword`. Without a hash it takes the same time and returns false.
   * @throws ApiError 503 when too many are waiting.
   */
  verify(password: string, hash: string | null | undefined, derivation: Derivation): Promise<boolean>
  /** Number of derivations that were begun since the start. */
  readonly begun: number
}

/** Hashes passwords, a few at a time, so that many concurrent sign-ins leave processor time and memory for everything else. */
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
