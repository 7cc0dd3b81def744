import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { createUser, findUserByEmail, issueTokens, type PasswordHasher, readEmail } from '@parley/accounts'
import type { Config } from '@parley/config'
import { invalid, limits, NewPassword, notFound, refusals, Tokens } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { originOf, signIn } from '../sessions/sign-in.ts'

const Register = {
  summary: 'Register by yourself (password mode, when no invitation is needed)',
  body: Type.Object({ email: Type.String({ maxLength: limits.email }), password: NewPassword }),
  response: { 200: Tokens, ...refusals(400, 404, 503) },
}

export const registrationRoutes =
  ({ db, config, tokens, clock }: Deps, passwords: PasswordHasher): FastifyPluginAsyncTypebox =>
  async (app) => {
    const options = { config: { access: 'none' }, onRequest: onlyWhenOpen(config) } as const

    app.post('/auth/register', { schema: Register, ...options }, async (request) => {
      const email = readEmail(request.body.email)
      const origin = originOf(request, clock())
      if (await findUserByEmail(db, email)) throw alreadyThere()
      const passwordHash = await passwords.hash(request.body.password)

      const session = await db.transaction().execute(async (trx) => {
        const user = await createUser(trx, { email, passwordHash, emailUnproven: true, ip: origin.ip, now: origin.now })
        if (!user) throw alreadyThere()
        return signIn(trx, config, user.id, origin)
      })

      return issueTokens(tokens, session, config.auth.jwtExpirySeconds)
    })
  }

const alreadyThere = () => invalid('There is somebody with this e-mail address already', 'duplicate')

const onlyWhenOpen =
  ({ auth }: Pick<Config, 'auth'>) =>
  async (): Promise<void> => {
    if (auth.authMode !== 'password' || auth.isInviteRequired) throw notFound('address')
  }
