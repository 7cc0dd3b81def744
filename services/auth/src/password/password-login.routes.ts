import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  countWrongGuess,
  findUserByEmail,
  issueTokens,
  lockUserIfLive,
  type PasswordHasher,
  readEmail,
  refuseTooManyGuesses,
} from '@parley/accounts'
import { limits, refusals, Tokens, unauthorized } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { originOf, signIn } from '../sessions/sign-in.ts'
import { onlyInMode } from '../sign-in-mode.ts'

const PasswordLogin = {
  summary: 'Sign in with e-mail address and password (password mode)',
  description:
    'After 10 wrong passwords for an account, or 100 from a network, within 15 minutes nothing is tried any more (429), ' +
    'not even the right one.',
  body: Type.Object({
    email: Type.String({ maxLength: limits.email }),
    password: Type.String({ maxLength: 1_000 }),
  }),
  response: { 200: Tokens, ...refusals(400, 401, 404, 429, 503) },
}

export const passwordLoginRoutes =
  ({ db, config, tokens, clock }: Deps, passwords: PasswordHasher): FastifyPluginAsyncTypebox =>
  async (app) => {
    const options = { config: { access: 'none' }, onRequest: onlyInMode('password', config) } as const

    app.post('/auth/password-login', { schema: PasswordLogin, ...options }, async (request) => {
      const email = readEmail(request.body.email)
      const origin = originOf(request, clock())
      const guess = { email, ...origin }

      await refuseTooManyGuesses(db, guess)
      const user = await findUserByEmail(db, email)
      const isRight = await passwords.verify(request.body.password, user?.passwordHash)

      // A wrong guess must be committed, so its refusal is thrown after the transaction.
      const session = await db.transaction().execute(async (trx) => {
        if (user && isRight) {
          // Others may have used up the guesses while this one was being looked at, and passwords may have changed.
          await refuseTooManyGuesses(trx, guess)
          const current = await lockUserIfLive(trx, user.id)
          if (current?.passwordHash === user.passwordHash) return signIn(trx, config, user.id, origin)
        }
        await countWrongGuess(trx, guess)
        return undefined
      })
      if (!session) throw unauthorized('The e-mail address or the password is wrong')

      return issueTokens(tokens, session, config.auth.jwtExpirySeconds)
    })
  }
