import {
  auditFailedSignIn,
  findUserByEmail,
  type SignInMethod,
  type StartedSession,
  startSession,
} from '@parley/accounts'
import type { Config } from '@parley/config'
import { notFound } from '@parley/contract'
import type { Database, Transaction } from '@parley/database'
import { logFailedSignIn } from '@parley/service'
import type { FastifyRequest } from 'fastify'

/** Where a sign-in comes from, and when. */
export interface SignInOrigin {
  ip: string
  userAgent: string | null
  now: number
}

export const originOf = ({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>, now: number): SignInOrigin => ({
  ip,
  userAgent: headers['user-agent'] ?? null,
  now,
})

export interface NewSession {
  userId: string
  method: SignInMethod
  /** Minimum lifetime of the session. */
  atLeastSeconds?: number
}

/** Starts the session of a sign-in in any mode. The oldest sessions beyond the configured number end. */
export const signIn = (
  trx: Transaction,
  { auth }: Pick<Config, 'auth'>,
  { userId, method, atLeastSeconds = 0 }: NewSession,
  origin: SignInOrigin,
): Promise<StartedSession> =>
  startSession(trx, {
    ...origin,
    userId,
    method,
    seconds: Math.max(auth.refreshTokenExpirySeconds, atLeastSeconds),
    maxActive: auth.maxActiveSessions,
  })

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
  await db.transaction().execute((trx) => auditFailedSignIn(trx, { method, subject: email, userId, ip, now }))
  logFailedSignIn(request, { method, reason, userId })
}

/** An `onRequest` hook: while a sign-in mode is not active, its routes are in the API description and answer 404. */
export const onlyInMode =
  (mode: Config['auth']['authMode'], { auth }: Pick<Config, 'auth'>) =>
  async (): Promise<void> => {
    if (auth.authMode !== mode) throw notFound('address')
  }
