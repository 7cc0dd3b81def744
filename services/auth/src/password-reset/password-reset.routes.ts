import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  createOneTimeLinks,
  findLink,
  findServerName,
  findUserByEmail,
  type LinkClaims,
  lockUserIfLive,
  mailNotice,
  networkOf,
  type PasswordHasher,
  readKnownEmail,
  refuseWeakPassword,
  resetMail,
  setPassword,
  takeLink,
} from '@parley/accounts'
import { invalid, NewPassword, refusals, SessionHeaders, SignInResponse } from '@parley/contract'
import { audit, type Transaction } from '@parley/database'
import { bearerToken, type Deps, languageOf, logFailedSignIn, logSessionEnd } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { linkNotValid, linkRequestSchema, linkSentMessage, mailLink } from '../one-time-links/link-request.ts'
import {
  onlyInMode,
  originOf,
  passFirstFactor,
  recordFailedSignIn,
  type SignInOrigin,
  type SignIns,
  signInTransaction,
} from '../sessions/sign-in.ts'

const RequestReset = {
  summary: 'Ask for a link to set a new password, by e-mail (password mode)',
  ...linkRequestSchema,
}

const SetupPassword = {
  summary: 'Set a password with the token of an invitation or reset link (password mode)',
  description:
    'The token is in the body, or in the Authorization header: `Bearer <token of the link>`. It works once. A reset ends all earlier ' +
    'sessions. A person with a second factor gets `mfaRequired` instead of tokens.',
  headers: SessionHeaders,
  body: Type.Object({
    ...linkRequestSchema.body.properties,
    token: Type.Optional(Type.String({ maxLength: 1_000 })),
    password: NewPassword,
  }),
  response: { 200: SignInResponse, ...refusals(400, 403, 404, 503) },
}

export const passwordResetRoutes =
  (deps: Deps, passwords: PasswordHasher, { devices, respondToSignIn }: SignIns): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, clock } = deps
    const options = { config: { access: 'none' }, onRequest: onlyInMode('password', config) } as const
    const links = createOneTimeLinks(config)
    const hasEmail = config.email.host !== undefined

    app.post('/auth/request-password-reset', { schema: RequestReset, ...options }, async (request) => {
      const email = readKnownEmail(request.body.email)
      if (!hasEmail) return { success: true as const, message: noEmail }
      const server = await findServerName(db)
      await mailLink({ db, config }, links, {
        purpose: 'reset',
        email,
        ip: request.ip,
        language: languageOf(request),
        now: clock(),
        isEntitled: (user) => Boolean(user?.passwordHash) && user?.deactivatedAt === null,
        write: (mail) => resetMail(mail, { server }),
      })
      return { success: true as const, message: linkSentMessage }
    })

    app.post('/auth/setup-password', { schema: SetupPassword, ...options }, async (request, reply) => {
      const origin = originOf(request, clock())
      const claims = links.read(tokenOf(request), readKnownEmail(request.body.email))
      if (!claims || claims.purpose === 'login') {
        logFailedSignIn(request, { method: 'reset', reason: 'not a link of this server for this address' })
        throw invalidLink()
      }
      const { email } = claims
      const method = claims.purpose === 'reset' ? 'reset' : 'invitation'
      const { userId } = (await findLink(db, claims, origin.now)) ?? {}
      if (!userId) {
        await recordFailedSignIn(db, request, { method, reason: 'the link was used or is too old', email, origin })
        throw invalidLink()
      }
      await refuseWeakPassword(request.body.password, (await findUserByEmail(db, email)) ?? { email })
      const passwordHash = await passwords.hash(request.body.password, {
        purpose: 'sign-in',
        client: networkOf(origin.ip),
      })

      const result = await signInTransaction(db, request, origin, async (trx) => {
        const owner = await useLink(trx, claims, userId, origin)
        const { ip, now } = origin
        await setPassword(trx, { userId, passwordHash, provesEmail: true, ip, now })
        if (method === 'reset') await mailNotice(trx, config, { user: owner, notice: 'password changed', ...origin })
        const isKnownDevice = devices.isKnown(owner, request)
        return passFirstFactor(trx, config, { user: owner, method, isKnownDevice }, origin)
      })
      logSessionEnd(request, { userId, reason: 'password changed' })

      return respondToSignIn(request, reply, result)
    })
  }

const noEmail = 'This server sends no e-mail. Please ask an admin for a new password.'

/**
 * Consumes the link and returns its owner. A reset is audited, a first password is not. @throws ApiError 400 when the
 * owner was removed, or has another address now.
 */
async function useLink(trx: Transaction, claims: LinkClaims, userId: string, { ip, now }: SignInOrigin) {
  const owner = await lockUserIfLive(trx, userId)
  const link = owner && (await takeLink(trx, claims, now))
  if (!owner || link?.userId !== userId) throw invalidLink()
  if ((await findUserByEmail(trx, claims.email))?.id !== userId) throw invalidLink()
  if (claims.purpose !== 'reset') return owner
  await audit(trx, { action: 'user.password.reset', actorId: userId, targetType: 'user', targetId: userId, ip })
  return owner
}

function tokenOf(request: FastifyRequest<{ Body: { token?: string } }>): string {
  if (request.body.token !== undefined) return request.body.token
  if (!request.headers.authorization) throw invalidLink()
  return bearerToken(request)
}

const invalidLink = () => invalid(linkNotValid)
