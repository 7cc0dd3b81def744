import { findSessionOwner } from '@parley/accounts'
import { forbidden } from '@parley/contract'
import type { Reader } from '@parley/database'
import type { Caller, RefreshClaims } from '@parley/identity'

/** The id of the session that a refresh token belongs to. @throws ApiError 403 when it is not the caller's. */
export async function requireOwnSession(db: Reader, caller: Caller, { sessionId }: RefreshClaims): Promise<string> {
  const owner = await findSessionOwner(db, sessionId)
  if (owner !== caller.userId) throw forbidden('The refresh token belongs to somebody else')
  return sessionId
}
