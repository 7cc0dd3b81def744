import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  createOneTimeLinks,
  createUser,
  findUserByEmail,
  type LinkClaims,
  lockUserIfLive,
  magicLinkMail,
  proveEmail,
  readEmail,
  readKnownEmail,
  takeLink,
} from '@parley/accounts'
import type { Config } from '@parley/config'
import { refusals, SessionHeaders, SignInResponse, unauthorized } from '@parley/contract'
import type { Transaction, UserRow } from '@parley/database'
import { bearerToken, type Deps, languageOf, logFailedSignIn } from '@parley/service'
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

const RequestMagicLink = {
  summary: 'Ask for a link to sign in, by e-mail (magic-link mode)',
  ...linkRequestSchema,
}

const VerifyMagicLink = {
  summary: 'Sign in with the token of a link (magic-link mode)',
  description:
    'Takes the token of a requested link or of an invitation, in the Authorization header: `Bearer <token of the link>`. It works once. ' +
    'The link proves one factor, the mailbox. A person with a second factor gets `mfaRequired` instead of tokens.',
  headers: SessionHeaders,
  body: linkRequestSchema.body,
  response: { 200: SignInResponse, ...refusals(400, 401, 403, 404) },
}

export const magicLinkRoutes =
  (deps: Deps, { devices, respondToSignIn }: SignIns): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, clock } = deps
    const options = { config: { access: 'none' }, onRequest: onlyInMode('magic-link', config) } as const
    const links = createOneTimeLinks(config)
    const { isInviteRequired } = config.auth

    app.post('/auth/login', { schema: RequestMagicLink, ...options }, async (request) => {
      const email = readEmail(request.body.email)
      await mailLink({ db, config }, links, {
        purpose: 'login',
        email,
        ip: request.ip,
        language: languageOf(request),
        now: clock(),
        isEntitled: (user) => (user ? user.deactivatedAt === null : !isInviteRequired),
        write: (mail) => magicLinkMail(config, mail),
      })
      return { success: true as const, message: linkSentMessage }
    })

    app.post('/auth/verify', { schema: VerifyMagicLink, ...options }, async (request, reply) => {
      const origin = originOf(request, clock())
      const claims = links.read(bearerToken(request), readKnownEmail(request.body.email))
      if (claims?.purpose !== 'login' && claims?.purpose !== 'invite') {
        logFailedSignIn(request, { method: 'magic-link', reason: 'not a link of this server for this address' })
        throw invalidLink()
      }
      const method = claims.purpose === 'invite' ? 'invitation' : 'magic-link'

      const result = await signInTransaction(db, request, origin, async (trx) => {
        const user = await admit(trx, claims, config, origin)
        if (!user) return undefined
        await proveEmail(trx, user, origin)
        const isKnownDevice = devices.isKnown(user, request)
        return passFirstFactor(trx, config, { user, method, isKnownDevice }, origin)
      })
      if (!result) {
        const { email } = claims
        await recordFailedSignIn(db, request, { method, reason: 'the link was used or is too old', email, origin })
        throw invalidLink()
      }

      return respondToSignIn(request, reply, result)
    })
  }

/**
 * Consumes the link and returns its user. A new user is created only when no invitation is needed. Undefined when the
 * link does not work.
 */
async function admit(trx: Transaction, claims: LinkClaims, { auth, chat }: Config, origin: SignInOrigin) {
  const { ip, now } = origin
  const owner = await findUserByEmail(trx, claims.email)
  if (owner) await lockUserIfLive(trx, owner.id)
  const link = await takeLink(trx, claims, now)
  if (!link) return undefined
  // A link does not work for a new user with the address of a removed one.
  const isStillTheirs = (user: UserRow | undefined) => link.userId === null || link.userId === user?.id
  for (;;) {
    const user = await findUserByEmail(trx, claims.email)
    if (!isStillTheirs(user) || (!user && auth.isInviteRequired)) return undefined
    const admitted = user ?? (await createUser(trx, { email: claims.email, autoJoin: chat.autoJoin, ip, now }))
    if (admitted) return admitted
  }
}

const invalidLink = () => unauthorized(linkNotValid)
