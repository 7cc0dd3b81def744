import { unauthorized } from '@parley/contract'
import { audit, type Database, type SessionRow, type Transaction } from '@parley/database'
import type { RefreshClaims } from '@parley/identity'
import { endSessions, type SessionKey } from './sessions.ts'

/** How long a refresh token that was rotated away still answers with its successor: lost replies, two tabs. */
const graceMs = 60_000

export interface Rotation {
  /** As `tokens.readRefresh` answers them. */
  claims: RefreshClaims
  /** Seconds the session lasts from now on without a refresh. */
  seconds: number
  ip: string | null
  now: number
}

/**
 * Rotates the refresh token of a session and answers what its successor is made of. The token before the current one
 * gets the same successor, as long as nobody has used that one; the token before that, for 60 s after its rotation.
 * Anything older was stolen or kept: the session ends, which is written to the audit log.
 * @throws ApiError 401 when the session has ended or expired, its user was removed, or the token was used before.
 */
export async function rotateRefresh(db: Database, rotation: Rotation): Promise<SessionKey> {
  // The end of a session must be committed, so the refusal is thrown after the transaction.
  const successor = await db.transaction().execute(async (trx) => {
    const session = await lockSession(trx, rotation)
    const generation = generationAfter(session, rotation)
    if (generation === undefined) {
      await endReused(trx, session, rotation)
      return undefined
    }
    if (generation > session.refreshGeneration) await rotate(trx, session, rotation)
    return { userId: session.userId, sessionId: session.id, generation }
  })
  if (!successor) throw unauthorized('The refresh token was used before: the session has ended, please sign in again')
  return successor
}

/** The generation that follows the given one; undefined when the given one must not be used any more. */
function generationAfter(session: SessionRow, { claims: { generation }, now }: Rotation): number | undefined {
  const age = session.refreshGeneration - generation
  if (age === 0 || age === 1) return generation + 1
  if (age === 2 && now - session.previousRotatedAt! < graceMs) return generation + 1
  return undefined
}

async function lockSession(trx: Transaction, { claims, now }: Rotation): Promise<SessionRow> {
  const session = await trx
    .selectFrom('sessions')
    .selectAll()
    .where('id', '=', claims.sessionId)
    .where('endedAt', 'is', null)
    .where('expiresAt', '>', now)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('users')
          .select('users.id')
          .whereRef('users.id', '=', 'sessions.userId')
          .where('removedAt', 'is', null),
      ),
    )
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (!session) throw unauthorized('The session has ended, please sign in again')
  return session
}

const rotate = (trx: Transaction, session: SessionRow, { now, seconds }: Rotation) =>
  trx
    .updateTable('sessions')
    .set({
      refreshGeneration: session.refreshGeneration + 1,
      previousRotatedAt: session.rotatedAt,
      rotatedAt: now,
      lastUsedAt: now,
      expiresAt: Math.max(session.expiresAt, now + seconds * 1000),
    })
    .where('id', '=', session.id)
    .execute()

async function endReused(trx: Transaction, { id, userId }: SessionRow, { ip, now }: Rotation) {
  await endSessions(trx, { userId, only: [id], now })
  await audit(trx, { action: 'session.reuse', actorId: userId, targetType: 'session', targetId: id, ip })
}
