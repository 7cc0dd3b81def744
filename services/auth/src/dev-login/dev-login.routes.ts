import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { findOrCreateUser, findUserByEmail, readEmail } from '@parley/accounts'
import type { Config } from '@parley/config'
import { forbidden, limits, MfaRequired, refusals, SessionHeaders, TokenResponse, UserView } from '@parley/contract'
import { type Transaction, userView } from '@parley/database'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import {
  onlyInMode,
  originOf,
  passFirstFactor,
  recordFailedSignIn,
  type SignInOrigin,
  type SignIns,
  signInTransaction,
} from '../sessions/sign-in.ts'

/** In dev mode an access token lasts a day, because developers use curl and do not refresh tokens. */
const tokenSeconds = 86_400
const method = 'dev'

const DevLogin = {
  summary: 'Sign in by e-mail address alone (dev mode)',
  headers: SessionHeaders,
  body: Type.Object({ email: Type.String({ maxLength: limits.email }) }),
  response: {
    200: Type.Union([
      Type.Object({
        user: UserView,
        token: Type.String({ description: 'Access token, valid for 24 hours' }),
        refreshToken: TokenResponse.properties.refreshToken,
      }),
      MfaRequired,
    ]),
    ...refusals(400, 401, 403, 404),
  },
}

export const devLoginRoutes =
  (deps: Deps, { devices, respondToSignIn }: SignIns): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, clock } = deps
    const onRequest = onlyInMode('dev', config)

    app.post('/auth/dev-login', { schema: DevLogin, config: { access: 'none' }, onRequest }, async (request, reply) => {
      const email = readEmail(request.body.email)
      const origin = originOf(request, clock())

      const result = await signInTransaction(db, request, origin, async (trx) => {
        const user = await admit(trx, email, config, origin)
        if (!user) return undefined
        const isKnownDevice = devices.isKnown(user, request)
        return passFirstFactor(trx, config, { user, method, atLeastSeconds: tokenSeconds, isKnownDevice }, origin)
      })
      if (!result) {
        await recordFailedSignIn(db, request, { method, reason: 'not invited', email, origin })
        throw forbidden('There is no invitation for this e-mail address')
      }
      if (result.mfa) return result.mfa
      const { accessToken, refreshToken } = await respondToSignIn(request, reply, result, {
        accessSeconds: tokenSeconds,
      })
      return { user: userView(result.user), token: accessToken, ...(refreshToken !== undefined && { refreshToken }) }
    })
  }

/** The user with this address. A new user is created only when no invitation is needed. Undefined when nobody has the address. */
async function admit(trx: Transaction, email: string, { auth, chat }: Config, { ip, now }: SignInOrigin) {
  if (!auth.isInviteRequired) return findOrCreateUser(trx, { email, autoJoin: chat.autoJoin, ip, now })
  return findUserByEmail(trx, email)
}
