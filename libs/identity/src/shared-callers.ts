import type { Reader } from '@parley/database'
import type { AccessClaims } from './access-token.ts'
import { type Caller, findCallers, sessionEnded } from './caller.ts'

interface Asking {
  claims: AccessClaims
  resolve: (caller: Caller) => void
  reject: (error: unknown) => void
}

const batchSize = 500

/**
 * `findCaller` for many who come at the same time (a thousand clients that lost their connection at once): they share
 * statements, and each is answered by one that began after it asked.
 */
export function createSharedCallers(db: Reader, clock: () => number) {
  let waiting: Asking[] = []
  let isAsking = false

  /** @throws ApiError 401 when the session has ended or expired, or the user was removed. */
  function find(claims: AccessClaims): Promise<Caller> {
    const { promise, resolve, reject } = Promise.withResolvers<Caller>()
    waiting.push({ claims, resolve, reject })
    if (!isAsking) void askAll()
    return promise
  }

  async function askAll() {
    isAsking = true
    // Whoever comes in the same turn goes along.
    await new Promise(setImmediate)
    while (waiting.length > 0) {
      const asked = waiting.slice(0, batchSize)
      waiting = waiting.slice(batchSize)
      await answer(asked)
    }
    isAsking = false
  }

  async function answer(asked: readonly Asking[]) {
    try {
      const claims = asked.map(({ claims }) => claims)
      const callers = await findCallers(db, claims, clock())
      for (const { claims, resolve, reject } of asked) {
        const caller = callers.get(claims.sessionId)
        if (caller?.userId === claims.userId) resolve(caller)
        else reject(sessionEnded())
      }
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }

  return { find }
}
