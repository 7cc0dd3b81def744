import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { endSessions, findSessionOwner, listSessions, rotateRefresh, SessionReused } from '@parley/accounts'
import {
  ApiError,
  forbidden,
  Id,
  invalid,
  notFound,
  Ok,
  refusals,
  Session,
  SessionHeaders,
  TokenResponse,
  UserView,
  unauthorized,
} from '@parley/contract'
import { type Reader, type Transaction, userFields, userView } from '@parley/database'
import { listGroupsOfPerson } from '@parley/groups'
import type { Caller } from '@parley/identity'
import { asRefusal, type Deps, logSessionEnd, wantsCookie } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { findProviderSession } from './provider-sessions.queries.ts'
import { createSessionCookie, createTokenResponses } from './session-cookie.ts'

const RefreshToken = Type.String({ maxLength: 1_000 })
const OptionalRefreshToken = Type.Object({ refreshToken: Type.Optional(RefreshToken) })
type OptionalToken = { Body: Static<typeof OptionalRefreshToken> }

const GetCurrentUser = {
  summary: 'Get the caller',
  response: {
    200: Type.Object({
      user: UserView,
      groups: Type.Array(Id, {
        description:
          'Ids of the groups that the caller is in. A mention `group:<id>` of one of them mentions the caller',
      }),
      isManaged: Type.Boolean({
        description:
          'Whether a directory provides the display name and the title, so that the caller cannot change them',
      }),
    }),
    ...refusals(401),
  },
}

const Refresh = {
  summary: 'Exchange a refresh token for new tokens',
  description:
    'Needs no access token. The refresh token is rotated: use the new one from now on. With `X-Parley-Session: cookie` and no token ' +
    'in the body, the cookie is used. When its token is refused (401), the cookie is removed.',
  headers: SessionHeaders,
  body: OptionalRefreshToken,
  response: { 200: TokenResponse, ...refusals(400, 401) },
}

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

const ListSessions = {
  summary: 'List the caller’s active sessions, newest first',
  response: { 200: Type.Object({ sessions: Type.Array(Session) }), ...refusals(401) },
}

const EndSessions = {
  summary: 'End all sessions of the caller, or all but one',
  description: 'When `refreshToken` is given, its session is not ended.',
  body: OptionalRefreshToken,
  response: {
    200: Type.Object({ ...Ok.properties, ended: Type.Integer({ description: 'How many sessions ended' }) }),
    ...refusals(400, 401, 403),
  },
}

const EndSession = {
  summary: 'End one session of the caller',
  params: Type.Object({ sessionId: Type.String() }),
  response: { 200: Ok, ...refusals(401, 404) },
}

/** The part of the providers that a logout uses: the address that ends a session there. */
type LogoutProviders = ReadonlyMap<string, { id: string; logoutUrl?(idToken: string | null): Promise<URL | undefined> }>

export const sessionRoutes =
  (deps: Deps, providers: LogoutProviders): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, tokens, clock } = deps
    const cookie = createSessionCookie(config)
    const respondWithTokens = createTokenResponses(deps)

    const withAnyToken = { tokenScope: 'read' } as const
    app.get('/auth/me', { schema: GetCurrentUser, config: withAnyToken }, async ({ caller: { userId: id } }) => {
      const fields = [...userFields, 'managedBy'] as const
      const user = await db.selectFrom('users').select(fields).where('id', '=', id).executeTakeFirstOrThrow()
      return { user: userView(user), groups: await listGroupsOfPerson(db, id), isManaged: user.managedBy !== null }
    })

    // Only a cookie whose own token was refused is removed. A token from the body says nothing about the cookie.
    const clearRefusedCookie = async (request: FastifyRequest<OptionalToken>, reply: FastifyReply, error: Error) => {
      if (usesCookie(request) && asRefusal(error).status === 401) cookie.clear(reply)
    }

    app.post(
      '/auth/refresh',
      { schema: Refresh, config: { access: 'none' }, onError: clearRefusedCookie },
      async (request, reply) => {
        const { body, ip } = request
        const refreshToken = body.refreshToken ?? cookie.read(request)
        if (refreshToken === undefined) throw wantsCookie(request) ? unauthorized() : invalid('refreshToken is missing')
        const claims = tokens.readRefresh(refreshToken)
        const { refreshTokenExpirySeconds: seconds, sessionMaxDays: maxDays, mfa } = config.auth
        const rotation = { claims, seconds, maxDays, mfaRequired: mfa === 'required', ip, now: clock() }
        const session = await rotateRefresh(db, rotation).catch((error) => {
          if (error instanceof SessionReused)
            logSessionEnd(request, { sessionIds: [error.sessionId], reason: 'reused' })
          throw error
        })
        return respondWithTokens(request, reply, session)
      },
    )

    const orCookie = { access: 'user', orCookie: true, mayEnrol: true } as const
    app.post('/auth/logout', { schema: Logout, config: orCookie }, async (request, reply) => {
      const ofCookie = usesCookie(request) ? await findSessionOfCookie(request) : undefined
      const userId = callerOf(request)?.userId ?? ofCookie?.userId
      // A cookie of another person stays, and so does its session.
      const ownCookie = ofCookie?.userId === userId ? ofCookie : undefined
      if (usesCookie(request) && (!ofCookie || ownCookie)) cookie.clear(reply)
      if (userId === undefined) throw unauthorized()
      const ended = await endOwnSessions(request, userId, 'logout', async (trx) => ({
        only: await listSessionsToEnd(trx, request, ownCookie?.sessionId),
      }))
      const logoutUrl = await findLogoutUrl(deps, providers, ended)
      return { success: true as const, message: 'Signed out', ...(logoutUrl && { logoutUrl }) }
    })

    app.get('/auth/sessions', { schema: ListSessions }, async ({ caller }) => {
      const sessions = await listSessions(db, caller.userId, clock())
      return { sessions: sessions.map((session) => ({ ...session, isCurrent: session.id === caller.sessionId })) }
    })

    app.delete('/auth/sessions', { schema: EndSessions }, async (request) => {
      const ended = await endOwnSessions(request, request.caller.userId, 'revoked', async (trx) => ({
        except: await findOwnSession(trx, request),
      }))
      return { success: true as const, ended: ended.length }
    })

    app.delete('/auth/sessions/:sessionId', { schema: EndSession }, async (request) => {
      const { sessionId } = request.params
      const ended = await endOwnSessions(request, request.caller.userId, 'revoked', async () => ({ only: [sessionId] }))
      if (ended.length === 0) throw notFound('session')
      return { success: true as const }
    })

    /** Ends the sessions that `choose` selects, logs this, and returns their ids. */
    async function endOwnSessions(
      request: FastifyRequest,
      userId: string,
      reason: 'logout' | 'revoked',
      choose: (trx: Transaction) => Promise<{ only?: string[]; except?: string | undefined }>,
    ): Promise<string[]> {
      const { ip } = request
      const sessionIds = await db
        .transaction()
        .execute(async (trx) => endSessions(trx, { userId, ...(await choose(trx)), reason, ip, now: clock() }))
      if (sessionIds.length > 0) logSessionEnd(request, { userId, sessionIds, reason })
      return sessionIds
    }

    /** The sessions that a logout ends: that of the refresh token in the body, or else those of the cookie and of the caller. */
    async function listSessionsToEnd(
      trx: Reader,
      request: FastifyRequest<OptionalToken>,
      ofCookie: string | undefined,
    ): Promise<string[]> {
      const caller = callerOf(request)
      const given = caller && (await findOwnSession(trx, request))
      return given ? [given] : [ofCookie, caller?.sessionId].filter((id) => id !== undefined)
    }

    /** The session of the refresh token in the body, undefined without one. @throws ApiError 401, 403 when it is not the caller's. */
    async function findOwnSession(
      trx: Reader,
      { caller, body: { refreshToken } }: FastifyRequest<OptionalToken>,
    ): Promise<string | undefined> {
      if (refreshToken === undefined) return undefined
      const { sessionId } = tokens.readRefresh(refreshToken)
      const owner = await findSessionOwner(trx, sessionId)
      if (owner !== caller.userId) throw forbidden('The refresh token belongs to somebody else')
      return sessionId
    }

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
const callerOf = ({ caller }: FastifyRequest<OptionalToken>) => caller as Caller | null

/** Whether the request uses the refresh token of its cookie. A token in the body has priority. */
const usesCookie = (request: FastifyRequest<OptionalToken>): boolean =>
  wantsCookie(request) && request.body?.refreshToken === undefined

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
