import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { countAttempt, createUser, findUserByEmail, networkOf, type PasswordHasher, readEmail } from '@parley/accounts'
import type { Config } from '@parley/config'
import { invalid, limits, NewPassword, notFound, refusals, SessionHeaders, TokenReply, tooMany } from '@parley/contract'
import { type Deps, logSignIn } from '@parley/service'
import { Type } from 'typebox'
import { createKnownDevices } from '../password/known-devices.ts'
import { createTokenReplies } from '../sessions/session-cookie.ts'
import { originOf, signIn } from '../sessions/sign-in.ts'

const method = 'registration'

const Register = {
  summary: 'Register without an invitation (password mode)',
  description:
    'One network may register `auth.registrationsPerNetwork` times in 15 minutes (429 beyond); failed ones count too.',
  headers: SessionHeaders,
  body: Type.Object({ email: Type.String({ maxLength: limits.email }), password: NewPassword }),
  response: { 200: TokenReply, ...refusals(400, 404, 429, 503) },
}

export const registrationRoutes =
  (deps: Deps, passwords: PasswordHasher): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, clock } = deps
    const replyTokens = createTokenReplies(deps)
    const options = { config: { access: 'none' }, onRequest: onlyWhenOpen(config) } as const
    const devices = createKnownDevices(config)
    const ofNetwork = { kind: 'registration from network', most: config.auth.registrationsPerNetwork }

    app.post('/auth/register', { schema: Register, ...options }, async (request, reply) => {
      const email = readEmail(request.body.email)
      const origin = originOf(request, clock())
      const network = networkOf(origin.ip)
      const seconds = await countAttempt(db, ofNetwork, network, origin.now)
      if (seconds > 0)
        throw tooMany('Too many people have registered from your network. Please try again later', seconds)
      if (await findUserByEmail(db, email)) throw alreadyThere()
      const passwordHash = await passwords.hash(request.body.password, { purpose: 'registration', client: network })

      const session = await db.transaction().execute(async (trx) => {
        const { ip, now } = origin
        const { autoJoin } = config.chat
        const user = await createUser(trx, { email, passwordHash, emailUnproven: true, autoJoin, ip, now })
        if (!user) throw alreadyThere()
        return signIn(trx, config, { userId: user.id, method }, origin)
      })
      logSignIn(request, { ...session, method })
      devices.remember({ email, passwordHash }, request, reply)

      return replyTokens(request, reply, session)
    })
  }

const alreadyThere = () => invalid('This e-mail address is already in use', 'duplicate')

const onlyWhenOpen =
  ({ auth }: Pick<Config, 'auth'>) =>
  async (): Promise<void> => {
    if (auth.authMode !== 'password' || auth.isInviteRequired) throw notFound('address')
  }
