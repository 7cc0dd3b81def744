import { forbidden, unauthorized } from '@parley/contract'
import { isUnset, prepared, type Reader } from '@parley/database'
import type { AccessClaims } from './access-token.ts'

/** Who is asking, as the database says at the start of this request. */
export interface Caller {
  userId: string
  sessionId: string
  userName: string
  email: string
  isAdmin: boolean
}

type Claimed = Pick<AccessClaims, 'userId' | 'sessionId'>

/**
 * The first statement of a request: is the session live, is its user, what may they do. One query by primary keys.
 * @throws ApiError 401 when the session has ended or expired, or the user was removed.
 */
export async function findCaller(db: Reader, claims: Claimed, now: number): Promise<Caller> {
  const [caller] = await findLiveCaller(db, { ...claims, now })
  if (!caller) throw sessionEnded()
  return caller
}

/** The same for many at once, by session; who may not ask is missing. */
export async function findCallers(
  db: Reader,
  claims: readonly AccessClaims[],
  now: number,
): Promise<Map<string, Caller>> {
  const sessionIds = claims.map(({ sessionId }) => sessionId)
  const found = await liveCallers(db, now)
    .where(({ eb, fn, val }) => eb('sessions.id', '=', fn.any(val(sessionIds))))
    .execute()
  return new Map(found.map((caller) => [caller.sessionId, caller]))
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

export const sessionEnded = () => unauthorized('The session has ended. Please sign in again')

/** @throws ApiError 403 for everybody but admins. */
export function requireAdmin(caller: Caller): void {
  if (!caller.isAdmin) throw forbidden('Only an admin may do this')
}
