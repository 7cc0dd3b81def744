import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  countAttempt,
  createUser,
  findUserByEmail,
  networkOf,
  type PasswordHasher,
  readEmail,
  refuseWeakPassword,
} from '@parley/accounts'
import type { Config } from '@parley/config'
import {
  invalid,
  limits,
  NewPassword,
  notFound,
  refusals,
  SessionHeaders,
  TokenResponse,
  tooMany,
} from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { originOf, type SignIns, signIn } from '../sessions/sign-in.ts'

const method = 'registration'

const Register = {
  summary: 'Register without an invitation (password mode)',
  description:
    'One network may register `auth.registrationsPerNetwork` times in 15 minutes (429 beyond); failed ones count too.',
  headers: SessionHeaders,
  body: Type.Object({ email: Type.String({ maxLength: limits.email }), password: NewPassword }),
  response: { 200: TokenResponse, ...refusals(400, 404, 429, 503) },
}

export const registrationRoutes =
  (deps: Deps, passwords: PasswordHasher, { respondToSignIn }: SignIns): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, clock } = deps
    const options = { config: { access: 'none' }, onRequest: onlyWhenOpen(config) } as const
    const ofNetwork = { kind: 'registration from network', most: config.auth.registrationsPerNetwork }

    app.post('/auth/register', { schema: Register, ...options }, async (request, reply) => {
      const email = readEmail(request.body.email)
      const origin = originOf(request, clock())
      const network = networkOf(origin.ip)
      const seconds = await countAttempt(db, ofNetwork, network, origin.now)
      if (seconds > 0)
        throw tooMany('Too many people have registered from your network. Please try again later', seconds)
      if (await findUserByEmail(db, email)) throw alreadyThere()
      await refuseWeakPassword(request.body.password, { email })
      const passwordHash = await passwords.hash(request.body.password, { purpose: 'registration', client: network })

      const result = await db.transaction().execute(async (trx) => {
        const { ip, now } = origin
        const { autoJoin } = config.chat
        const user = await createUser(trx, { email, passwordHash, emailUnproven: true, autoJoin, ip, now })
        if (!user) throw alreadyThere()
        return { user, method, session: await signIn(trx, config, { user, method }, origin) } as const
      })

      return respondToSignIn(request, reply, result)
    })
  }

const alreadyThere = () => invalid('This e-mail address is already in use', 'duplicate')

const onlyWhenOpen =
  ({ auth }: Pick<Config, 'auth'>) =>
  async (): Promise<void> => {
    if (auth.authMode !== 'password' || auth.isInviteRequired) throw notFound('address')
  }
