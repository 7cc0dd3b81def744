import { nobody, type Session, type Tokens as TokenReply } from '@parley/contract'
import { audit, isRowId, type Reader, recordControl, type Transaction, uuidv7 } from '@parley/database'
import type { Tokens } from '@parley/identity'
import { lockUser } from './users.ts'

/** How somebody signed in. */
export type SignInMethod = 'dev' | 'password' | 'registration' | 'magic-link' | 'invitation' | 'reset' | 'oauth'

export interface NewSession {
  userId: string
  method: SignInMethod
  ip: string | null
  userAgent: string | null
  /** Seconds the session lasts without a refresh. */
  seconds: number
  /** Sessions that a person may have. The oldest end to make room for this one. */
  maxActive: number
  now: number
}

/** What the tokens of a session contain. */
export interface SessionKey {
  userId: string
  sessionId: string
  /** Generation of the refresh token. */
  generation: number
}

export interface StartedSession extends SessionKey {
  /** The sessions that ended to make room for this one. */
  replaced: string[]
}

const userAgentLength = 300

/**
 * Starts a session. The oldest sessions end when the person would have more than `maxActive`. Exact under concurrent sign-ins, which
 * take turns at the person's row.
 * @throws ApiError 401 when the person was removed in the meantime.
 */
export async function startSession(trx: Transaction, input: NewSession): Promise<StartedSession> {
  const { userId, method, ip, userAgent, seconds, maxActive, now } = input
  await lockUser(trx, userId)
  const live = await trx
    .selectFrom('sessions')
    .select(['id', 'expiresAt'])
    .where('userId', '=', userId)
    .where('endedAt', 'is', null)
    .orderBy('createdAt')
    .orderBy('id')
    .execute()
  const active = live.filter(({ expiresAt }) => expiresAt > now)
  const expired = live.filter(({ expiresAt }) => expiresAt <= now)
  const oldest = active.slice(0, Math.max(0, active.length - maxActive + 1))
  const idsOf = (sessions: { id: string }[]) => sessions.map(({ id }) => id)
  await endSessions(trx, { userId, only: idsOf(expired), reason: 'expired', ip, now })
  const replaced = await endSessions(trx, { userId, only: idsOf(oldest), reason: 'replaced', ip, now })

  const sessionId = uuidv7()
  await trx
    .insertInto('sessions')
    .values({
      id: sessionId,
      userId,
      createdAt: now,
      lastUsedAt: now,
      expiresAt: now + seconds * 1000,
      ip,
      userAgent: userAgent?.slice(0, userAgentLength).toWellFormed() ?? null,
    })
    .execute()
  await audit(trx, {
    action: 'session.create',
    actorId: userId,
    targetType: 'session',
    targetId: sessionId,
    metadata: { method },
    ip,
  })
  return { userId, sessionId, generation: 0, replaced }
}

/** Why a session ends. `replaced`: a newer session took its place; `reused`: an old refresh token was used. */
export type SessionEnd =
  | 'logout'
  | 'revoked'
  | 'replaced'
  | 'expired'
  | 'reused'
  | 'password changed'
  | 'address proven'
  | 'removed'

export interface EndedSessions {
  userId: string
  reason: SessionEnd
  /** Who ends them, if it is not the person. */
  actorId?: string | undefined
  ip: string | null
  /** Only these; all sessions of the person when absent. */
  only?: string[]
  /** All but this one. */
  except?: string
  now: number
}

/**
 * Ends sessions of one person: with the commit their tokens stop working and their streams end. Answers the ids of those that had not
 * ended before. Each gets an entry in the audit log, except expired ones.
 */
export async function endSessions(trx: Transaction, input: EndedSessions): Promise<string[]> {
  const ended = await markEnded(trx, input)
  if (ended.length > 0) await recordControl(trx, { ...nobody, endSessions: ended })
  return ended
}

/** As `endSessions`, for callers that put the control into an event of their own. */
export async function markEnded(trx: Transaction, input: EndedSessions): Promise<string[]> {
  const { userId, reason, actorId = userId, only, except, ip, now } = input
  const ids = only?.filter(isRowId)
  if (ids?.length === 0) return []
  const rows = await trx
    .updateTable('sessions')
    .set({ endedAt: now })
    .where('userId', '=', userId)
    .where('endedAt', 'is', null)
    .$if(ids !== undefined, (query) => query.where('id', 'in', ids!))
    .$if(except !== undefined, (query) => query.where('id', '<>', except!))
    .returning('id')
    .execute()
  const ended = rows.map(({ id }) => id)
  if (reason === 'expired') return ended
  for (const targetId of ended) {
    await audit(trx, { action: 'session.end', actorId, targetType: 'session', targetId, metadata: { reason }, ip })
  }
  return ended
}

/** The person's active sessions, newest first. Served by the index sessions_active. */
export const listSessions = (db: Reader, userId: string, now: number): Promise<Omit<Session, 'isCurrent'>[]> =>
  db
    .selectFrom('sessions')
    .select(['id', 'createdAt', 'lastUsedAt', 'expiresAt', 'ip', 'userAgent'])
    .where('userId', '=', userId)
    .where('endedAt', 'is', null)
    .where('expiresAt', '>', now)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .execute()

/** The owner of a session, whether it is live or not; undefined when there is no such session. */
export const findSessionOwner = async (db: Reader, sessionId: string): Promise<string | undefined> =>
  isRowId(sessionId)
    ? (await db.selectFrom('sessions').select('userId').where('id', '=', sessionId).executeTakeFirst())?.userId
    : undefined

/** The answer of every sign-in and refresh. `seconds` is the lifetime of the access token. */
export async function issueTokens(tokens: Tokens, key: SessionKey, seconds: number): Promise<TokenReply> {
  return {
    accessToken: await tokens.issueAccess({ ...key, seconds }),
    refreshToken: tokens.issueRefresh(key.sessionId, key.generation),
    exp: seconds,
    tokenType: 'Bearer',
  }
}
