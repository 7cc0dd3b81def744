import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { findOrCreateUser, findUserByEmail, readEmail } from '@parley/accounts'
import type { Config } from '@parley/config'
import { forbidden, limits, refusals, SessionHeaders, TokenReply, UserView } from '@parley/contract'
import type { Transaction } from '@parley/database'
import { type Deps, logSignIn } from '@parley/service'
import { Type } from 'typebox'
import { createTokenReplies } from '../sessions/session-cookie.ts'
import { onlyInMode, originOf, recordFailedSignIn, type SignInOrigin, signIn } from '../sessions/sign-in.ts'

/** An access token lasts a day here, because developers use curl and do not refresh. */
const tokenSeconds = 86_400
const method = 'dev'

const DevLogin = {
  summary: 'Sign in by e-mail address alone (dev mode)',
  headers: SessionHeaders,
  body: Type.Object({ email: Type.String({ maxLength: limits.email }) }),
  response: {
    200: Type.Object({
      user: UserView,
      token: Type.String({ description: 'Access token, good for 24 hours' }),
      refreshToken: TokenReply.properties.refreshToken,
    }),
    ...refusals(400, 403, 404),
  },
}

export const devLoginRoutes =
  (deps: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, clock } = deps
    const replyTokens = createTokenReplies(deps)
    const onRequest = onlyInMode('dev', config)

    app.post('/auth/dev-login', { schema: DevLogin, config: { access: 'none' }, onRequest }, async (request, reply) => {
      const email = readEmail(request.body.email)
      const origin = originOf(request, clock())

      const { user, session } = await db.transaction().execute(async (trx) => {
        const user = await admit(trx, email, config, origin)
        if (!user) return {}
        const session = await signIn(trx, config, { userId: user.id, method, atLeastSeconds: tokenSeconds }, origin)
        return { user, session }
      })
      if (!session) {
        await recordFailedSignIn(db, request, { method, reason: 'not invited', email, origin })
        throw forbidden('Nobody with this e-mail address was invited')
      }
      logSignIn(request, { ...session, method })

      const { accessToken, refreshToken } = await replyTokens(request, reply, session, { accessSeconds: tokenSeconds })
      return { user, token: accessToken, ...(refreshToken !== undefined && { refreshToken }) }
    })
  }

/** The user with this address. A new one is created only when no invitation is needed; undefined when nobody may sign in. */
async function admit(trx: Transaction, email: string, { auth, chat }: Config, { ip, now }: SignInOrigin) {
  if (!auth.isInviteRequired) return findOrCreateUser(trx, { email, autoJoin: chat.autoJoin, ip, now })
  return findUserByEmail(trx, email)
}
