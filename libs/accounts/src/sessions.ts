import { ApiError, forbidden, type Session, type Tokens as TokenResponse } from '@parley/contract'
import { audit, isRowId, type Reader, type SessionRow, type Transaction, type UserRow, uuidv7 } from '@parley/database'
import type { Tokens } from '@parley/identity'
import { liveSessionsOf } from './api-tokens.ts'
import { endSessions } from './session-endings.ts'
import { lockUser } from './users.ts'

/** The way in which somebody signed in. */
export type SignInMethod =
  | 'dev'
  | 'password'
  | 'registration'
  | 'magic-link'
  | 'invitation'
  | 'reset'
  | 'oauth'
  | 'saml'
  | 'passkey'

/** Providers ask for second factors themselves. */
const isProvider = (method: SignInMethod) => method === 'oauth' || method === 'saml'

export interface NewSession {
  userId: string
  method: SignInMethod
  ip: string | null
  userAgent: string | null
  /** Seconds that the session lasts without a refresh. */
  seconds: number
  /** Sessions that a person may have. If there are more, the oldest ones end. */
  maxActive: number
  /** Days after which the session ends, however often it is refreshed. */
  maxDays: number
  /** The time when the session ends in any case, because the provider's session ends then. */
  endsBy?: number | undefined
  /** Whether the configuration requires a second factor. */
  mfaRequired: boolean
  /** The second factor that the person used. */
  secondFactor?: SecondFactorMethod
  now: number
}

export type SecondFactorMethod = 'totp' | 'passkey' | 'recovery'

/** The data in the tokens of a session. */
export interface SessionKey {
  userId: string
  sessionId: string
  /** Generation of the refresh token. */
  generation: number
}

export interface StartedSession extends SessionKey {
  /** The sessions that ended because of the limit. */
  replaced: string[]
}

/** The longest user agent that is stored. */
export const userAgentLength = 300
const dayMs = 86_400_000

/**
 * Starts a session. The oldest sessions end when the person would have more than `maxActive`. The limit also holds for
 * concurrent sign-ins, which wait for the lock of the person's row.
 * @throws ApiError 401 when the person was removed in the meantime, 403 when they are deactivated, or a bot.
 */
export async function startSession(trx: Transaction, input: NewSession): Promise<StartedSession> {
  const { userId, method, secondFactor, ip, userAgent, seconds, maxDays, endsBy, mfaRequired, now } = input
  const user = await lockUser(trx, userId)
  if (user.isBot) throw forbidden('A bot cannot sign in. It uses API tokens')
  requireActive(user, method, now)
  const replaced = await makeRoomForSession(trx, input)

  const sessionId = uuidv7()
  const agent = userAgent?.slice(0, userAgentLength).toWellFormed() ?? null
  await trx
    .insertInto('sessions')
    .values({
      id: sessionId,
      userId,
      createdAt: now,
      lastUsedAt: now,
      expiresAt: Math.min(now + seconds * 1000, lastMoment({ createdAt: now, endsBy: endsBy ?? null }, maxDays)),
      endsBy: endsBy ?? null,
      ip,
      userAgent: agent,
      viaProvider: isProvider(method),
      mustEnrol: mfaRequired && !isProvider(method) && user.secondFactorSince === null,
    })
    .execute()
  await audit(trx, {
    action: 'login.success',
    actorId: userId,
    targetType: 'session',
    targetId: sessionId,
    metadata: { method, ...(secondFactor && { secondFactor }), userAgent: agent },
    ip,
  })
  return { userId, sessionId, generation: 0, replaced }
}

/** When a session ends, however often it is refreshed. */
export const lastMoment = ({ createdAt, endsBy }: Pick<SessionRow, 'createdAt' | 'endsBy'>, maxDays: number): number =>
  Math.min(createdAt + maxDays * dayMs, endsBy ?? Number.POSITIVE_INFINITY)

/** Ends the person's expired sessions, and the oldest active ones if there are too many. Returns the ids of the latter. */
async function makeRoomForSession(trx: Transaction, { userId, maxActive, ip, now }: NewSession): Promise<string[]> {
  const live = await trx
    .selectFrom('sessions')
    .select(['id', 'expiresAt'])
    .where('userId', '=', userId)
    .where('endedAt', 'is', null)
    .where('tokenHash', 'is', null)
    .orderBy('createdAt')
    .orderBy('id')
    .execute()
  const active = live.filter(({ expiresAt }) => expiresAt > now)
  const expired = live.filter(({ expiresAt }) => expiresAt <= now)
  const oldest = active.slice(0, Math.max(0, active.length - maxActive + 1))
  const idsOf = (sessions: { id: string }[]) => sessions.map(({ id }) => id)
  await endSessions(trx, { userId, only: idsOf(expired), reason: 'expired', ip, now })
  return endSessions(trx, { userId, only: idsOf(oldest), reason: 'replaced', ip, now })
}

export const deactivatedSentence = 'This account is deactivated. Please ask an admin of this server'

/** 403: somebody who is deactivated, or a guest whose time is over, has shown who they are at a sign-in. */
export class AccountDeactivated extends ApiError {
  readonly userId: string
  readonly method: SignInMethod

  constructor(userId: string, method: SignInMethod) {
    super(403, 'account_deactivated', deactivatedSentence)
    this.userId = userId
    this.method = method
  }
}

/** @throws AccountDeactivated */
export function requireActive(user: UserRow, method: SignInMethod, now: number): void {
  if (user.deactivatedAt !== null || isGuestOver(user, now)) throw new AccountDeactivated(user.id, method)
}

/** Whether this is a guest whose time is over. */
export const isGuestOver = ({ role, guestExpiresAt }: UserRow, now: number): boolean =>
  role === 'guest' && guestExpiresAt !== null && guestExpiresAt <= now

/** The person's active sessions, newest first. */
export const listSessions = (db: Reader, userId: string, now: number): Promise<Omit<Session, 'isCurrent'>[]> =>
  liveSessionsOf(db, userId, now)
    .select(['id', 'createdAt', 'lastUsedAt', 'expiresAt', 'ip', 'userAgent'])
    .where('tokenHash', 'is', null)
    .execute()

/** The owner of a session, whether it is live or not; undefined when there is no such session. */
export const findSessionOwner = async (db: Reader, sessionId: string): Promise<string | undefined> =>
  isRowId(sessionId)
    ? (await db.selectFrom('sessions').select('userId').where('id', '=', sessionId).executeTakeFirst())?.userId
    : undefined

/** The response to every sign-in and refresh. `seconds` is the lifetime of the access token. */
export async function issueTokens(tokens: Tokens, key: SessionKey, seconds: number): Promise<TokenResponse> {
  return {
    accessToken: await tokens.issueAccess({ ...key, seconds }),
    refreshToken: tokens.issueRefresh(key.sessionId, key.generation),
    exp: seconds,
    tokenType: 'Bearer',
  }
}
