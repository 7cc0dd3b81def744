import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  createOneTimeLinks,
  findLink,
  findServerName,
  type LinkClaims,
  lockUserIfLive,
  networkOf,
  type PasswordHasher,
  readKnownEmail,
  resetMail,
  setPassword,
  takeLink,
} from '@parley/accounts'
import { invalid, limits, NewPassword, Ok, refusals, SessionHeaders, TokenReply } from '@parley/contract'
import { audit, type Transaction } from '@parley/database'
import { bearerToken, type Deps, logFailedSignIn, logSessionEnd, logSignIn } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { linkIsUnderWay, mailLink } from '../one-time-links/link-request.ts'
import { createKnownDevices } from '../password/known-devices.ts'
import { createTokenReplies } from '../sessions/session-cookie.ts'
import { onlyInMode, originOf, recordFailedSignIn, type SignInOrigin, signIn } from '../sessions/sign-in.ts'

const RequestReset = {
  summary: 'Ask for a link to set a new password, by e-mail (password mode)',
  description: 'The answer does not tell whether anybody has the address.',
  body: Type.Object({ email: Type.String({ maxLength: limits.email }) }),
  response: { 200: Type.Object({ ...Ok.properties, message: Type.String() }), ...refusals(400, 404, 429) },
}

const SetupPassword = {
  summary: 'Set a password with the token of an invitation or reset link (password mode)',
  description:
    'The token stands in the body, or in the Authorization header: `Bearer <token of the link>`. It works once. ' +
    'After a reset all earlier sessions are over.',
  headers: SessionHeaders,
  body: Type.Object({
    email: Type.String({ maxLength: limits.email }),
    token: Type.Optional(Type.String({ maxLength: 1_000 })),
    password: NewPassword,
  }),
  response: { 200: TokenReply, ...refusals(400, 404, 503) },
}

export const passwordResetRoutes =
  (deps: Deps, passwords: PasswordHasher): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, clock } = deps
    const replyTokens = createTokenReplies(deps)
    const options = { config: { access: 'none' }, onRequest: onlyInMode('password', config) } as const
    const links = createOneTimeLinks(config)
    const devices = createKnownDevices(config)
    const hasEmail = config.email.host !== undefined

    app.post('/auth/request-password-reset', { schema: RequestReset, ...options }, async ({ body, ip }) => {
      const email = readKnownEmail(body.email)
      if (!hasEmail) return { success: true as const, message: noEmail }
      const server = await findServerName(db)
      await mailLink({ db, config }, links, {
        purpose: 'reset',
        email,
        ip,
        now: clock(),
        isEntitled: (user) => Boolean(user?.passwordHash),
        write: (link) => resetMail(email, link, { server }),
      })
      return { success: true as const, message: linkIsUnderWay }
    })

    app.post('/auth/setup-password', { schema: SetupPassword, ...options }, async (request, reply) => {
      const origin = originOf(request, clock())
      const claims = links.read(tokenOf(request), readKnownEmail(request.body.email))
      if (!claims || claims.purpose === 'login') {
        logFailedSignIn(request, { method: 'reset', reason: 'not a link of this server for this address' })
        throw deadLink()
      }
      const { email } = claims
      const method = claims.purpose === 'reset' ? 'reset' : 'invitation'
      const { userId } = (await findLink(db, claims, origin.now)) ?? {}
      if (!userId) {
        await recordFailedSignIn(db, request, { method, reason: 'the link was used or is too old', email, origin })
        throw deadLink()
      }
      const passwordHash = await passwords.hash(request.body.password, {
        purpose: 'sign-in',
        client: networkOf(origin.ip),
      })

      const session = await db.transaction().execute(async (trx) => {
        await useLink(trx, claims, userId, origin)
        await setPassword(trx, { userId, passwordHash, ip: origin.ip, now: origin.now })
        return signIn(trx, config, { userId, method }, origin)
      })
      logSessionEnd(request, { userId, reason: 'password changed' })
      logSignIn(request, { ...session, method })
      devices.remember({ email, passwordHash }, request, reply)

      return replyTokens(request, reply, session)
    })
  }

const noEmail = 'This server sends no e-mail. Please ask an admin for a new password.'

/** Consumes the link, if its owner was not removed. A reset is written to the audit log, a first password is not. */
async function useLink(trx: Transaction, claims: LinkClaims, userId: string, { ip, now }: SignInOrigin) {
  const owner = await lockUserIfLive(trx, userId)
  const link = owner && (await takeLink(trx, claims, now))
  if (link?.userId !== userId) throw deadLink()
  if (claims.purpose !== 'reset') return
  await audit(trx, { action: 'user.password.reset', actorId: userId, targetType: 'user', targetId: userId, ip })
}

function tokenOf(request: FastifyRequest<{ Body: { token?: string } }>): string {
  if (request.body.token !== undefined) return request.body.token
  if (!request.headers.authorization) throw deadLink()
  return bearerToken(request)
}

const deadLink = () =>
  invalid('This link is not valid any more. A link works once and for a limited time. Please ask for a new one')
