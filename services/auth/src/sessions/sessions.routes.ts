import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { listSessions, rotateRefresh, SessionReused } from '@parley/accounts'
import {
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
import { userFields, userView } from '@parley/database'
import { listGroupsOfPerson } from '@parley/groups'
import { asRefusal, type Deps, logSessionEnd, wantsCookie } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { endOwnSessions, findOwnSession, type MayHaveToken, OptionalRefreshToken, usesCookie } from './own-sessions.ts'
import { createSessionCookie, createTokenResponses } from './session-cookie.ts'

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

export const sessionRoutes =
  (deps: Deps): FastifyPluginAsyncTypebox =>
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
    const clearRefusedCookie = async (request: MayHaveToken, reply: FastifyReply, error: Error) => {
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

    app.get('/auth/sessions', { schema: ListSessions }, async ({ caller }) => {
      const sessions = await listSessions(db, caller.userId, clock())
      return { sessions: sessions.map((session) => ({ ...session, isCurrent: session.id === caller.sessionId })) }
    })

    app.delete('/auth/sessions', { schema: EndSessions }, async (request) => {
      const ended = await endOwnSessions(deps, request, revokedBy(request), async (trx) => ({
        except: await findOwnSession(trx, deps, request),
      }))
      return { success: true as const, ended: ended.length }
    })

    app.delete('/auth/sessions/:sessionId', { schema: EndSession }, async (request) => {
      const { sessionId } = request.params
      const ended = await endOwnSessions(deps, request, revokedBy(request), async () => ({ only: [sessionId] }))
      if (ended.length === 0) throw notFound('session')
      return { success: true as const }
    })
  }

const revokedBy = ({ caller }: FastifyRequest) => ({ userId: caller.userId, reason: 'revoked' }) as const
