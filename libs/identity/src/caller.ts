import { forbidden, unauthorized } from '@parley/contract'
import type { Reader } from '@parley/database'
import type { AccessClaims } from './access-token.ts'

/** Who is asking, as the database says at the start of this request. */
export interface Caller {
  userId: string
  sessionId: string
  userName: string
  email: string
  isAdmin: boolean
}

/**
 * The first statement of a request: is the session live, is its user, what may they do. One query by primary keys.
 * @throws ApiError 401 when the session has ended or expired, or the user was removed.
 */
export async function findCaller(db: Reader, claims: AccessClaims, now: number): Promise<Caller> {
  const caller = await db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.userId')
    .select(['users.id as userId', 'sessions.id as sessionId', 'userName', 'email', 'isAdmin'])
    .where('sessions.id', '=', claims.sessionId)
    .where('sessions.userId', '=', claims.userId)
    .where('endedAt', 'is', null)
    .where('expiresAt', '>', now)
    .where('removedAt', 'is', null)
    .executeTakeFirst()
  if (!caller) throw unauthorized('The session has ended, please sign in again')
  return caller
}

/** @throws ApiError 403 for everybody but admins. */
export function requireAdmin(caller: Caller): void {
  if (!caller.isAdmin) throw forbidden('Only an admin may do this')
}
