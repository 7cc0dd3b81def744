import { setImmediate as nextTurn } from 'node:timers/promises'
import { forbidden, sessionEnded } from '@parley/contract'
import { isUnset, prepared, type Reader } from '@parley/database'
import DataLoader from 'dataloader'
import type { AccessClaims } from './tokens.ts'

/** The user and session on whose behalf a request runs, as the database has them at the start of the request. */
export interface Caller {
  userId: string
  sessionId: string
  userName: string
  email: string
  isAdmin: boolean
}

type Claimed = Pick<AccessClaims, 'userId' | 'sessionId'>

/**
 * The first statement of a request: whether the session is alive, and what its user may do. One query by primary keys.
 * @throws ApiError 401 when the session has ended or expired, or the user was removed.
 */
export async function findCaller(db: Reader, claims: Claimed, now: number): Promise<Caller> {
  const [caller] = await findLiveCaller(db, { ...claims, now })
  if (!caller) throw sessionEnded()
  return caller
}

const batchSize = 500

/**
 * Like `findCaller`, for many requests that arrive together, such as a thousand clients that reconnect at once: they share statements.
 * One statement runs at a time, and every request is answered by a statement that began after it arrived.
 */
export function createSharedCallers(db: Reader, clock: () => number) {
  let statement: Promise<unknown>
  let queue: Promise<unknown> = Promise.resolve()
  const loader = new DataLoader<AccessClaims, Caller>(
    (claims) => {
      const answers = findCallers(db, claims, clock())
      statement = answers.catch(() => {})
      return answers
    },
    {
      cache: false,
      maxBatchSize: batchSize,
      batchScheduleFn(dispatch) {
        queue = queue
          .then(() => nextTurn())
          .then(() => {
            dispatch()
            return statement
          })
      },
    },
  )
  return {
    /** @throws ApiError 401 when the session has ended or expired, or the user was removed. */
    find: (claims: AccessClaims): Promise<Caller> => loader.load(claims),
  }
}

/** For each of the claims its caller, or the refusal. */
async function findCallers(db: Reader, claims: readonly AccessClaims[], now: number): Promise<(Caller | Error)[]> {
  const sessionIds = claims.map(({ sessionId }) => sessionId)
  const found = await liveCallers(db, now)
    .where(({ eb, fn, val }) => eb('sessions.id', '=', fn.any(val(sessionIds))))
    .execute()
  const bySession = new Map(found.map((caller) => [caller.sessionId, caller]))
  return claims.map(({ sessionId, userId }) => {
    const caller = bySession.get(sessionId)
    return caller?.userId === userId ? caller : sessionEnded()
  })
}

const liveCallers = (db: Reader, now: number) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.userId')
    .select(['users.id as userId', 'sessions.id as sessionId', 'userName', 'email', 'isAdmin'])
    .where(isUnset('endedAt'))
    .where('expiresAt', '>', now)
    .where(isUnset('removedAt'))

const findLiveCaller = prepared((db, { sessionId, userId, now }: Claimed & { now: number }) =>
  liveCallers(db, now).where('sessions.id', '=', sessionId).where('sessions.userId', '=', userId),
)

/** @throws ApiError 403 for everybody but admins. */
export function requireAdmin(caller: Caller): void {
  if (!caller.isAdmin) throw forbidden('Only an admin may do this')
}
