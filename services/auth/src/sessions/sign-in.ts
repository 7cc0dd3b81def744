import { type SignInMethod, type StartedSession, startSession } from '@parley/accounts'
import type { Config } from '@parley/config'
import type { Transaction } from '@parley/database'
import type { FastifyRequest } from 'fastify'

/** From where and when somebody signs in. */
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

export interface Arrival {
  userId: string
  method: SignInMethod
  /** Least lifetime of the session. */
  atLeastSeconds?: number
}

/** The end of every sign-in, whatever the mode: a session within the configured number of them. */
export const signIn = (
  trx: Transaction,
  { auth }: Pick<Config, 'auth'>,
  { userId, method, atLeastSeconds = 0 }: Arrival,
  origin: SignInOrigin,
): Promise<StartedSession> =>
  startSession(trx, {
    ...origin,
    userId,
    method,
    seconds: Math.max(auth.refreshTokenExpirySeconds, atLeastSeconds),
    maxActive: auth.maxActiveSessions,
  })
