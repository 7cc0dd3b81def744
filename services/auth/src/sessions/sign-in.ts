import {
  AccountDeactivated,
  auditFailedSignIn,
  findSecondFactors,
  findUserByEmail,
  lockUser,
  mailNotice,
  requireActive,
  type SecondFactorMethod,
  type SignInMethod,
  type StartedSession,
  startSession,
  userAgentLength,
} from '@parley/accounts'
import type { Config } from '@parley/config'
import { type Language, type MfaRequired, notFound, type SignInResponse, type TokenResponse } from '@parley/contract'
import type { Database, Transaction, UserRow } from '@parley/database'
import { type Deps, languageOf, logFailedSignIn, logSignIn } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createKnownDevices } from './known-devices.ts'
import { beginAttempt } from './mfa-attempts.ts'
import { createTokenResponses } from './session-cookie.ts'

/** Where and when somebody signs in. */
export interface SignInOrigin {
  ip: string
  userAgent: string | null
  /** The language of their program. Null when it names none of ours. */
  language: Language | null
  now: number
}

/** The user agent is shortened here, so that a later sign-in is compared with what was stored. */
export const originOf = (request: Pick<FastifyRequest, 'ip' | 'headers'>, now: number): SignInOrigin => ({
  ip: request.ip,
  userAgent: request.headers['user-agent']?.slice(0, userAgentLength) ?? null,
  language: languageOf(request) ?? null,
  now,
})

export interface NewSession {
  user: UserRow
  method: SignInMethod
  /** The second factor that the person has shown. */
  secondFactor?: SecondFactorMethod
  /** Minimum lifetime of the session. */
  atLeastSeconds?: number
  /** The time when the session ends in any case, because the provider's session ends then. */
  endsBy?: number | undefined
  /** Whether the device sent the cookie of an earlier sign-in. */
  isKnownDevice?: boolean
}

/**
 * Starts the session of a sign-in, in any mode. When the person has too many sessions, the oldest ones end. The person
 * gets a mail when the device is new, but not at their first sign-in. The language of their first browser becomes the language of their mails.
 */
export async function signIn(
  trx: Transaction,
  config: Pick<Config, 'auth' | 'email'>,
  { user, method, secondFactor, atLeastSeconds = 0, endsBy, isKnownDevice = false }: NewSession,
  origin: SignInOrigin,
): Promise<StartedSession> {
  const { refreshTokenExpirySeconds, maxActiveSessions, sessionMaxDays, mfa } = config.auth
  const isNew = !isKnownDevice && (await isNewDevice(trx, user.id, origin.userAgent))
  const session = await startSession(trx, {
    ...origin,
    userId: user.id,
    method,
    ...(secondFactor && { secondFactor }),
    seconds: Math.max(refreshTokenExpirySeconds, atLeastSeconds),
    maxActive: maxActiveSessions,
    maxDays: sessionMaxDays,
    endsBy,
    mfaRequired: mfa === 'required',
  })
  const language = user.language ?? origin.language
  if (user.language !== language) {
    await trx.updateTable('users').set({ language }).where('id', '=', user.id).where('language', 'is', null).execute()
  }
  if (isNew) await mailNotice(trx, config, { user: { ...user, language }, notice: 'new device', ...origin })
  return session
}

/**
 * Whether the user agent is new for this person: programs without cookies are recognised by their user agent. Served by
 * indexes of sessions by user.
 */
async function isNewDevice(trx: Transaction, userId: string, userAgent: string | null): Promise<boolean> {
  const { total, alike } = await trx
    .selectFrom('sessions')
    .select(({ fn }) => [
      fn.countAll<number>().as('total'),
      fn.countAll<number>().filterWhere('userAgent', 'is not distinct from', userAgent).as('alike'),
    ])
    .where('userId', '=', userId)
    .where('tokenHash', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(total) > 0 && Number(alike) === 0
}

/** The state of a sign-in after its first factor: it has a session, or it waits for the second factor. */
type SignInResult =
  | { user: UserRow; method: SignInMethod; session: StartedSession; mfa?: undefined }
  | { user: UserRow; method: SignInMethod; session?: undefined; mfa: MfaRequired }

/** Whether a person shows a second factor: they have one, and the server uses them. */
export const usesSecondFactor = ({ auth }: Pick<Config, 'auth'>, { secondFactorSince }: UserRow): boolean =>
  secondFactorSince !== null && auth.mfa !== 'off'

/**
 * Call it when a person has shown their first factor: a password, a link by mail, or the address in dev mode. A person with a second
 * factor gets a session only after they have shown that too.
 */
export async function passFirstFactor(
  trx: Transaction,
  config: Pick<Config, 'auth' | 'email'>,
  newSession: NewSession,
  origin: SignInOrigin,
): Promise<SignInResult> {
  const { method, atLeastSeconds } = newSession
  const user = await lockUser(trx, newSession.user.id)
  requireActive(user, newSession.method, origin.now)
  if (!usesSecondFactor(config, user)) {
    return { user, method, session: await signIn(trx, config, newSession, origin) }
  }
  const seconds = atLeastSeconds ?? config.auth.jwtExpirySeconds
  const mfaToken = await beginAttempt(trx, { userId: user.id, method, seconds, now: origin.now })
  const { hasTotp, passkeys, recoveryCodes } = await findSecondFactors(trx, user.id)
  const methods: MfaRequired['methods'] = []
  if (hasTotp) methods.push('totp')
  if (passkeys > 0) methods.push('passkey')
  if (recoveryCodes > 0) methods.push('recovery')
  return { user, method, mfa: { mfaRequired: true, mfaToken, methods } }
}

interface FailedSignIn {
  method: SignInMethod
  /** Only for the log. */
  reason: string
  email: string
  origin: SignInOrigin
}

/** Records a failed sign-in in the log and, within its limits, in the audit log. */
export async function recordFailedSignIn(
  db: Database,
  request: FastifyRequest,
  { method, reason, email, origin: { ip, now } }: FailedSignIn,
): Promise<void> {
  const userId = (await findUserByEmail(db, email))?.id
  await db.transaction().execute((trx) => auditFailedSignIn(trx, { method, userId, ip, now }))
  logFailedSignIn(request, { method, reason, userId })
}

/**
 * Runs a sign-in in a transaction. The attempt of somebody who is deactivated is recorded in a transaction of its own,
 * because the one of the sign-in is rolled back.
 * @throws AccountDeactivated and what `run` throws.
 */
export async function signInTransaction<Result>(
  db: Database,
  request: FastifyRequest,
  { ip, now }: SignInOrigin,
  run: (trx: Transaction) => Promise<Result>,
): Promise<Result> {
  try {
    return await db.transaction().execute(run)
  } catch (error) {
    if (error instanceof AccountDeactivated) {
      const failed = { method: error.method, reason: error.code, userId: error.userId }
      await db.transaction().execute((trx) => auditFailedSignIn(trx, { ...failed, ip, now }))
      logFailedSignIn(request, failed)
    }
    throw error
  }
}

/** An `onRequest` hook: the routes of a sign-in mode that is not active respond with 404, although OpenAPI describes them. */
export const onlyInMode =
  (mode: Config['auth']['authMode'], { auth }: Pick<Config, 'auth'>) =>
  async (): Promise<void> => {
    if (auth.authMode !== mode) throw notFound('address')
  }

/** Like `onlyInMode`, for the routes of second factors. */
export const onlyWithMfa =
  ({ auth }: Pick<Config, 'auth'>) =>
  async (): Promise<void> => {
    if (auth.mfa === 'off') throw notFound('address')
  }

/** Options of `createTokenResponses`. */
interface ResponseOptions {
  accessSeconds?: number
}

/** The parts that the routes of all sign-in modes share. The service creates them once. */
export type SignIns = ReturnType<typeof createSignIns>

export function createSignIns(deps: Pick<Deps, 'config' | 'tokens'>) {
  const respondWithTokens = createTokenResponses(deps)
  const devices = createKnownDevices(deps.config)

  /**
   * Makes the response to a sign-in, after its transaction: tokens, and the cookie of the known device; or `mfaRequired`,
   * with the values that the second step needs.
   */
  async function respondToSignIn(
    request: FastifyRequest,
    reply: FastifyReply,
    result: SignInResult & { mfa?: undefined },
    options?: ResponseOptions,
  ): Promise<TokenResponse>
  async function respondToSignIn(
    request: FastifyRequest,
    reply: FastifyReply,
    result: SignInResult,
    options?: ResponseOptions,
  ): Promise<SignInResponse>
  async function respondToSignIn(
    request: FastifyRequest,
    reply: FastifyReply,
    { user, method, session, mfa }: SignInResult,
    options: ResponseOptions = {},
  ): Promise<SignInResponse> {
    if (mfa) return mfa
    logSignIn(request, { ...session, method })
    devices.remember(user, request, reply)
    return respondWithTokens(request, reply, session, options)
  }

  return { devices, respondToSignIn }
}
