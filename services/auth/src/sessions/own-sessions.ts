import { endSessions, findSessionOwner } from '@parley/accounts'
import { forbidden } from '@parley/contract'
import type { Reader, Transaction } from '@parley/database'
import { type Deps, logSessionEnd, wantsCookie } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'

/** The body of requests that may name a session by its refresh token. */
export const OptionalRefreshToken = Type.Object({ refreshToken: Type.Optional(Type.String({ maxLength: 1_000 })) })
export type MayHaveToken = FastifyRequest<{ Body: Static<typeof OptionalRefreshToken> }>

/** Whether the request uses the refresh token of its cookie. A token in the body has priority. */
export const usesCookie = (request: MayHaveToken): boolean =>
  wantsCookie(request) && request.body?.refreshToken === undefined

/** The session of the refresh token in the body, undefined without one. @throws ApiError 401, 403 when it is not the caller's. */
export async function findOwnSession(
  trx: Reader,
  { tokens }: Pick<Deps, 'tokens'>,
  { caller, body: { refreshToken } }: MayHaveToken,
): Promise<string | undefined> {
  if (refreshToken === undefined) return undefined
  const { sessionId } = tokens.readRefresh(refreshToken)
  const owner = await findSessionOwner(trx, sessionId)
  if (owner !== caller.userId) throw forbidden('The refresh token belongs to somebody else')
  return sessionId
}

/** Ends the sessions of this person that `choose` selects, logs this, and returns their ids. */
export async function endOwnSessions(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  request: FastifyRequest,
  person: { userId: string; reason: 'logout' | 'revoked' },
  choose: (trx: Transaction) => Promise<{ only?: string[]; except?: string | undefined }>,
): Promise<string[]> {
  const { ip } = request
  const sessionIds = await db
    .transaction()
    .execute(async (trx) => endSessions(trx, { ...person, ...(await choose(trx)), ip, now: clock() }))
  if (sessionIds.length > 0) logSessionEnd(request, { ...person, sessionIds })
  return sessionIds
}
