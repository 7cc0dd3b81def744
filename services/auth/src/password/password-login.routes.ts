import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  auditFailedSignIn,
  auditLockout,
  countWrongGuess,
  findUserByEmail,
  lockUserIfLive,
  networkOf,
  type PasswordHasher,
  readKnownEmail,
  refuseTooManyGuesses,
} from '@parley/accounts'
import { ApiError, limits, refusals, SessionHeaders, TokenReply, unauthorized } from '@parley/contract'
import { type Deps, logFailedSignIn, logSignIn, logSignInLimit } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { createTokenReplies } from '../sessions/session-cookie.ts'
import { onlyInMode, originOf, signIn } from '../sessions/sign-in.ts'
import { createKnownDevices } from './known-devices.ts'

const method = 'password'

const PasswordLogin = {
  summary: 'Sign in with e-mail address and password (password mode)',
  description:
    'After 10 wrong passwords for an account from one network, 100 for it from anywhere, or 100 from a network for any account, ' +
    'nothing is tried there any more (429) for 15 minutes, not even the right one. A device on which somebody has signed in to ' +
    'the account before is known by a cookie: only its own 10 wrong passwords count for it.',
  headers: SessionHeaders,
  body: Type.Object({
    email: Type.String({ maxLength: limits.email }),
    password: Type.String({ maxLength: 1_000 }),
  }),
  response: { 200: TokenReply, ...refusals(400, 401, 404, 429, 503) },
}

export const passwordLoginRoutes =
  (deps: Deps, passwords: PasswordHasher): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, clock } = deps
    const replyTokens = createTokenReplies(deps)
    const devices = createKnownDevices(config)
    const options = { config: { access: 'none' }, onRequest: onlyInMode('password', config) } as const

    app.post('/auth/password-login', { schema: PasswordLogin, ...options }, async (request, reply) => {
      const email = readKnownEmail(request.body.email)
      const origin = originOf(request, clock())
      const user = await findUserByEmail(db, email)
      const guess = { email, device: devices.find(user, request), ...origin }

      await refuseTooManyGuesses(db, guess).catch(logIfTooMany(request))
      const isRight = await passwords.verify(request.body.password, user?.passwordHash, {
        purpose: 'sign-in',
        client: networkOf(origin.ip),
      })

      // A wrong guess must be committed, so the refusal is thrown after the transaction.
      const {
        session,
        passwordHash,
        reached = [],
      } = await db.transaction().execute(async (trx) => {
        if (user && isRight) {
          // Meanwhile others may have reached the limit of guesses, and the password may have changed.
          await refuseTooManyGuesses(trx, guess).catch(logIfTooMany(request))
          const current = await lockUserIfLive(trx, user.id)
          if (current?.passwordHash === user.passwordHash) {
            const session = await signIn(trx, config, { userId: user.id, method }, origin)
            return { session, passwordHash: current.passwordHash }
          }
        }
        const reached = await countWrongGuess(trx, guess).catch(logIfTooMany(request))
        const { ip, now } = origin
        await auditFailedSignIn(trx, { method, subject: email, userId: user?.id, ip, now })
        for (const scope of reached) await auditLockout(trx, { scope, userId: user?.id, ip, now })
        return { reached }
      })
      if (!session || passwordHash === null) {
        logFailedSignIn(request, { method, reason: 'wrong password', userId: user?.id })
        for (const scope of reached) logSignInLimit(request, { scope, userId: user?.id })
        throw unauthorized('The e-mail address or the password is wrong')
      }
      logSignIn(request, { ...session, method })
      devices.remember({ email, passwordHash }, request, reply)

      return replyTokens(request, reply, session)
    })
  }

const logIfTooMany = (request: FastifyRequest) => (error: unknown) => {
  if (error instanceof ApiError && error.status === 429) {
    logFailedSignIn(request, { method, reason: 'too many wrong passwords' })
  }
  throw error
}
