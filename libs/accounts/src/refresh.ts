import { ApiError, sessionEnded } from '@parley/contract'
import { audit, type Database, isActive, type SessionRow, type Transaction } from '@parley/database'
import type { RefreshClaims } from '@parley/identity'
import { endSessions } from './session-endings.ts'
import { deactivatedSentence, lastMoment, type SessionKey } from './sessions.ts'

/**
 * How long a repeated use of the previous refresh token gets the same next token. It is for lost responses, and for two
 * tabs that refresh at once.
 */
const graceMs = 60_000

interface Rotation {
  /** The result of `tokens.readRefresh`. */
  claims: RefreshClaims
  /** Seconds that the session lasts from now on without a refresh. */
  seconds: number
  /** Days after its start when the session ends in any case. */
  maxDays: number
  /** Whether the configuration requires a second factor. */
  mfaRequired: boolean
  ip: string | null
  now: number
}

/**
 * Rotates the refresh token of a session and returns the key of the next token. For 60 s after the rotation the
 * previous token still gets the same next token, as long as that one has not been used. Any other earlier token may
 * have been stolen, so its use ends the session, with an entry in the audit log.
 * @throws ApiError 401 when the session has ended or expired or its user was removed or deactivated; `SessionReused`
 * when the use of an old token ended the session.
 */
export async function rotateRefresh(db: Database, rotation: Rotation): Promise<SessionKey> {
  // The end of a session must be committed, so the refusal is thrown after the transaction.
  const successor = await db.transaction().execute(async (trx) => {
    const session = await lockSession(trx, rotation)
    const { generation } = rotation.claims
    if (generation === session.refreshGeneration) await rotate(trx, session, rotation)
    else if (!mayRepeat(session, rotation)) {
      await endReused(trx, session, rotation)
      return undefined
    }
    return { userId: session.userId, sessionId: session.id, generation: generation + 1 }
  })
  if (!successor) throw new SessionReused(rotation.claims.sessionId)
  return successor
}

/** An old refresh token was used, so the session was ended. */
export class SessionReused extends ApiError {
  readonly sessionId: string

  constructor(sessionId: string) {
    super(401, 'unauthorized', 'This refresh token was used before, so its session has ended. Please sign in again')
    this.sessionId = sessionId
  }
}

/** Whether this is the previous token, within the grace period. Once the next token was used, this one is two generations old. */
const mayRepeat = ({ refreshGeneration, rotatedAt }: SessionRow, { claims, now }: Rotation) =>
  claims.generation === refreshGeneration - 1 && rotatedAt !== null && now - rotatedAt < graceMs

async function lockSession(trx: Transaction, { claims, maxDays, now }: Rotation): Promise<SessionRow> {
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
          .where('removedAt', 'is', null)
          .where(isActive(now)),
      ),
    )
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (!session) throw await reasonOfEnd(trx, claims, now)
  if (lastMoment(session, maxDays) <= now) throw sessionEnded()
  return session
}

const sessionOfDeactivated = () => new ApiError(401, 'session_of_deactivated', deactivatedSentence)

/** Tells a person that they were deactivated, because another sign-in would be refused too. */
async function reasonOfEnd(trx: Transaction, { sessionId }: RefreshClaims, now: number): Promise<ApiError> {
  const person = await trx
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.userId')
    .select(isActive(now).as('isActive'))
    .where('sessions.id', '=', sessionId)
    .where('removedAt', 'is', null)
    .executeTakeFirst()
  return person && !person.isActive ? sessionOfDeactivated() : sessionEnded()
}

const rotate = (trx: Transaction, session: SessionRow, { now, seconds, maxDays, mfaRequired }: Rotation) =>
  trx
    .updateTable('sessions')
    .set(({ selectFrom }) => ({
      refreshGeneration: session.refreshGeneration + 1,
      rotatedAt: now,
      lastUsedAt: now,
      expiresAt: Math.min(Math.max(session.expiresAt, now + seconds * 1000), lastMoment(session, maxDays)),
      mustEnrol:
        mfaRequired && !session.viaProvider
          ? selectFrom('users')
              .select(({ eb }) => eb('secondFactorSince', 'is', null).$castTo<boolean>().as('mustEnrol'))
              .where('users.id', '=', session.userId)
          : false,
    }))
    .where('id', '=', session.id)
    .execute()

async function endReused(trx: Transaction, { id, userId }: SessionRow, { ip, now }: Rotation) {
  await endSessions(trx, { userId, only: [id], reason: 'reused', ip, now })
  await audit(trx, { action: 'session.reuse', actorId: userId, targetType: 'session', targetId: id, ip })
}
