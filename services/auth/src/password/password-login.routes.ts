import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  findUserByEmail,
  lockUserIfLive,
  networkOf,
  type PasswordHasher,
  readKnownEmail,
  refuseTooManyGuesses,
} from '@parley/accounts'
import { ApiError, limits, refusals, SessionHeaders, SignInResponse, unauthorized } from '@parley/contract'
import { type Deps, logFailedSignIn } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { onlyInMode, originOf, passFirstFactor, type SignIns, signInTransaction } from '../sessions/sign-in.ts'
import { logWrongPassword, recordWrongPassword } from './wrong-passwords.ts'

const method = 'password'

const PasswordLogin = {
  summary: 'Sign in with e-mail address and password (password mode)',
  description:
    'Limits of wrong passwords in 15 minutes: 10 for an account from one network, 100 for an account, 100 from a network. Beyond a limit ' +
    'every password is refused (429), also the right one. A device on which somebody has signed in to the account before is known by a ' +
    'cookie, and only its own 10 wrong passwords count for it. A person with a second factor gets `mfaRequired` instead of tokens, and ' +
    'continues with `POST /auth/mfa`.',
  headers: SessionHeaders,
  body: Type.Object({
    email: Type.String({ maxLength: limits.email }),
    password: Type.String({ maxLength: 1_000 }),
  }),
  response: { 200: SignInResponse, ...refusals(400, 401, 403, 404, 429, 503) },
}

export const passwordLoginRoutes =
  (deps: Deps, passwords: PasswordHasher, { devices, respondToSignIn }: SignIns): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, clock } = deps
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
      const { result, reached = [] } = await signInTransaction(db, request, origin, async (trx) => {
        if (user && isRight) {
          // During the check, other guesses may have reached the limit, and the password may have changed.
          await refuseTooManyGuesses(trx, guess).catch(logIfTooMany(request))
          const current = await lockUserIfLive(trx, user.id)
          if (current?.passwordHash === user.passwordHash) {
            const isKnownDevice = guess.device !== undefined
            return { result: await passFirstFactor(trx, config, { user: current, method, isKnownDevice }, origin) }
          }
        }
        const wrong = { userId: user?.id }
        return { reached: await recordWrongPassword(trx, guess, wrong).catch(logIfTooMany(request)) }
      })
      if (!result) {
        logWrongPassword(request, { userId: user?.id, reached })
        throw unauthorized('The e-mail address or the password is wrong')
      }

      return respondToSignIn(request, reply, result)
    })
  }

const logIfTooMany = (request: FastifyRequest) => (error: unknown) => {
  if (error instanceof ApiError && error.status === 429) {
    logFailedSignIn(request, { method, reason: 'too many wrong passwords' })
  }
  throw error
}
