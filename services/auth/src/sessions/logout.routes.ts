import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { findSessionOwner } from '@parley/accounts'
import { ApiError, Ok, refusals, SessionHeaders, unauthorized } from '@parley/contract'
import type { Caller } from '@parley/identity'
import type { Deps } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { endOwnSessions, findOwnSession, type MayHaveToken, OptionalRefreshToken, usesCookie } from './own-sessions.ts'
import { findProviderSession } from './provider-sessions.queries.ts'
import { createSessionCookie } from './session-cookie.ts'

const Logout = {
  summary: 'End a session',
  description:
    'Ends the session of the given refresh token, which must be the caller’s own. Without a refresh token it ends the current session. With ' +
    '`X-Parley-Session: cookie` and no token in the body, the session of the cookie ends too, and the cookie is removed; no access token is ' +
    'needed then. At `logoutUrl` the browser may also end the session at the provider that the person signed in through.',
  headers: SessionHeaders,
  body: OptionalRefreshToken,
  response: {
    200: Type.Object({ ...Ok.properties, message: Type.String(), logoutUrl: Type.Optional(Type.String()) }),
    ...refusals(400, 401, 403),
  },
}

/** The part of the providers that a logout uses: the address that ends a session there. */
type LogoutProviders = ReadonlyMap<string, { id: string; logoutUrl?(idToken: string | null): Promise<URL | undefined> }>

export const logoutRoutes =
  (deps: Deps, providers: LogoutProviders): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, tokens } = deps
    const cookie = createSessionCookie(deps.config)
    const config = { access: 'user', orCookie: true, mayEnrol: true } as const

    app.post('/auth/logout', { schema: Logout, config }, async (request, reply) => {
      const caller = callerOf(request)
      const ofCookie = usesCookie(request) ? await findSessionOfCookie(request) : undefined
      const userId = caller?.userId ?? ofCookie?.userId
      // A cookie of another person stays, and so does its session.
      const ownCookie = ofCookie?.userId === userId ? ofCookie : undefined
      if (usesCookie(request) && ofCookie === ownCookie) cookie.clear(reply)
      if (userId === undefined) throw unauthorized()

      const ended = await endOwnSessions(deps, request, { userId, reason: 'logout' }, async (trx) => {
        const named = await findOwnSession(trx, deps, request)
        if (named !== undefined) return { only: [named] }
        return { only: [ownCookie?.sessionId, caller?.sessionId].filter((id) => id !== undefined) }
      })
      const logoutUrl = await findLogoutUrl(deps, providers, ended)
      return { success: true as const, message: 'Signed out', ...(logoutUrl && { logoutUrl }) }
    })

    /** The session of the cookie, live or not; undefined without a valid cookie. */
    async function findSessionOfCookie(request: FastifyRequest) {
      const refreshToken = cookie.read(request)
      if (refreshToken === undefined) return undefined
      const sessionId = sessionIdOf(refreshToken)
      const userId = sessionId && (await findSessionOwner(db, sessionId))
      return userId ? { sessionId, userId } : undefined
    }

    function sessionIdOf(refreshToken: string): string | undefined {
      try {
        return tokens.readRefresh(refreshToken).sessionId
      } catch (error) {
        if (error instanceof ApiError) return undefined
        throw error
      }
    }
  }

/** The caller; null when the request has only the cookie (`orCookie`). */
const callerOf = ({ caller }: MayHaveToken) => caller as Caller | null

/**
 * The address that ends one of these sessions at the provider where it began. Undefined while the provider is
 * unavailable.
 */
async function findLogoutUrl(
  { db, config, seals, logger }: Deps,
  providers: LogoutProviders,
  sessionIds: string[],
): Promise<string | undefined> {
  const session = await findProviderSession(db, sessionIds)
  const provider = session && providers.get(session.providerId)
  if (!provider?.logoutUrl) return undefined
  const idToken = session!.idToken === null ? null : (seals.open(session!.idToken) ?? null)
  try {
    const url = await provider.logoutUrl(idToken)
    url?.searchParams.set('post_logout_redirect_uri', `${config.auth.appUrl}/`)
    return url?.href
  } catch (error) {
    logger.warn({ err: error, provider: provider.id }, 'the logout address of a provider could not be fetched')
    return undefined
  }
}
