import { startSession } from '@parley/accounts'
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

/** The end of every sign-in, whatever the mode: a session within the configured number of them. */
export const signIn = (
  trx: Transaction,
  { auth }: Pick<Config, 'auth'>,
  userId: string,
  origin: SignInOrigin,
  { atLeastSeconds = 0 } = {},
) =>
  startSession(trx, {
    ...origin,
    userId,
    seconds: Math.max(auth.refreshTokenExpirySeconds, atLeastSeconds),
    maxActive: auth.maxActiveSessions,
  })
