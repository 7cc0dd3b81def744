import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { endSessions } from '@parley/accounts'
import { invalid, notFound, refusals, unavailable } from '@parley/contract'
import { type Deps, logSessionEnd } from '@parley/service'
import { errors } from 'jose'
import { Type } from 'typebox'
import { insertLogout, insertUsedToken, listLoggedOut } from '../sessions/provider-sessions.queries.ts'
import { readForms } from '../single-sign-on/forms.ts'
import { InvalidLogoutToken } from './logout-tokens.ts'
import type { Providers } from './providers.ts'

const maxBytes = 32_768
const reason = 'logout at the provider'

const EndSessions = {
  summary: 'End the sessions of somebody who logged out at their provider',
  description: 'OpenID Connect Back-Channel Logout 1.0: a provider with an issuer calls this. Each token works once.',
  consumes: ['application/x-www-form-urlencoded'],
  params: Type.Object({ providerId: Type.String() }),
  body: Type.Object({ logout_token: Type.String({ maxLength: maxBytes }) }),
  response: {
    200: Type.Object({}, { description: 'The sessions have ended, if there were any' }),
    ...refusals(400, 404, 413, 503),
  },
}

export const backchannelLogoutRoutes =
  ({ db, logger, clock, wakeRelay }: Deps, providers: Providers): FastifyPluginAsyncTypebox =>
  async (app) => {
    readForms(app, { maxBytes })

    app.post(
      '/auth/oauth/:providerId/backchannel-logout',
      { schema: EndSessions, config: { access: 'none' } },
      async (request, reply) => {
        const { params, body, ip } = request
        const provider = providers.get(params.providerId)
        if (!provider?.readLogoutToken) throw notFound('sign-in provider with back-channel logout')
        const token = await provider.readLogoutToken(body.logout_token).catch((error: unknown) => {
          if (isRefusal(error)) throw refused()
          logger.warn({ err: error, provider: provider.id }, 'the keys of a provider cannot be fetched')
          throw unavailable('The keys of the provider cannot be fetched. Please try again', 5)
        })
        const now = clock()

        const ended = await db.transaction().execute(async (trx) => {
          const { issuer, id, expiresAt } = token
          if (!(await insertUsedToken(trx, { issuer, id: `logout ${id}`, expiresAt, now }))) throw refused()
          const logout = { ...token, providerId: provider.id }
          await insertLogout(trx, { ...logout, now })
          const sessions = await listLoggedOut(trx, logout)
          const ofPeople = Map.groupBy(sessions, ({ userId }) => userId)
          const ids: string[] = []
          for (const userId of [...ofPeople.keys()].sort()) {
            const only = ofPeople.get(userId)!.map((session) => session.id)
            ids.push(...(await endSessions(trx, { userId, only, reason, ip, now })))
          }
          return ids
        })
        wakeRelay()
        if (ended.length > 0) logSessionEnd(request, { sessionIds: ended, reason })
        reply.header('cache-control', 'no-store')
        return {}
      },
    )
  }

const refused = () => invalid('logout_token is not a logout token of this provider, or was used before')

const faultsOfProvider = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID'])
const isRefusal = (error: unknown) =>
  error instanceof InvalidLogoutToken || (error instanceof errors.JOSEError && !faultsOfProvider.has(error.code))
