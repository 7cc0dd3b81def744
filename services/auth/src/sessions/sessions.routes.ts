import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  endSessions,
  findSessionOwner,
  issueTokens,
  listSessions,
  rotateRefresh,
  SessionReused,
} from '@parley/accounts'
import { forbidden, notFound, Ok, refusals, Session, Tokens, UserView } from '@parley/contract'
import type { Reader, Transaction } from '@parley/database'
import { type Deps, logSessionEnd } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'

const RefreshToken = Type.String({ maxLength: 1_000 })
const OptionalRefreshToken = Type.Object({ refreshToken: Type.Optional(RefreshToken) })

const GetCurrentUser = {
  summary: 'The caller',
  response: { 200: Type.Object({ user: UserView }), ...refusals(401) },
}

const Refresh = {
  summary: 'Exchange a refresh token for new tokens',
  description: 'Needs no access token. The refresh token is rotated: use the new one from then on.',
  body: Type.Object({ refreshToken: RefreshToken }),
  response: { 200: Tokens, ...refusals(400, 401) },
}

const Logout = {
  summary: 'End a session',
  description:
    'The session of the given refresh token, which must be the caller’s own; without one, the current session.',
  body: OptionalRefreshToken,
  response: { 200: Type.Object({ ...Ok.properties, message: Type.String() }), ...refusals(400, 401, 403) },
}

const ListSessions = {
  summary: 'The caller’s active sessions, newest first',
  response: { 200: Type.Object({ sessions: Type.Array(Session) }), ...refusals(401) },
}

const EndSessions = {
  summary: 'End all sessions of the caller, or all but one',
  description: 'The session of `refreshToken`, if it is given, stays.',
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
  ({ db, config, tokens, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/auth/me', { schema: GetCurrentUser }, async ({ caller: { userId, userName, email, isAdmin } }) => ({
      user: { id: userId, userName, email, isAdmin },
    }))

    app.post('/auth/refresh', { schema: Refresh, config: { access: 'none' } }, async (request) => {
      const { body, ip } = request
      const claims = tokens.readRefresh(body.refreshToken)
      const seconds = config.auth.refreshTokenExpirySeconds
      const session = await rotateRefresh(db, { claims, seconds, ip, now: clock() }).catch((error) => {
        if (error instanceof SessionReused) logSessionEnd(request, { sessionIds: [error.sessionId], reason: 'reused' })
        throw error
      })
      return issueTokens(tokens, session, config.auth.jwtExpirySeconds)
    })

    app.post('/auth/logout', { schema: Logout }, async (request) => {
      await endOwnSessions(request, 'logout', async (trx) => ({
        only: [(await findOwnSession(trx, request)) ?? request.caller.sessionId],
      }))
      return { success: true as const, message: 'Signed out' }
    })

    app.get('/auth/sessions', { schema: ListSessions }, async ({ caller }) => {
      const sessions = await listSessions(db, caller.userId, clock())
      return { sessions: sessions.map((session) => ({ ...session, isCurrent: session.id === caller.sessionId })) }
    })

    app.delete('/auth/sessions', { schema: EndSessions }, async (request) => {
      const ended = await endOwnSessions(request, 'revoked', async (trx) => ({
        except: await findOwnSession(trx, request),
      }))
      return { success: true as const, ended: ended.length }
    })

    app.delete('/auth/sessions/:sessionId', { schema: EndSession }, async (request) => {
      const { sessionId } = request.params
      const ended = await endOwnSessions(request, 'revoked', async () => ({ only: [sessionId] }))
      if (ended.length === 0) throw notFound('session')
      return { success: true as const }
    })

    /** Ends those sessions of the caller that `choose` names, logs it, and answers their ids. */
    async function endOwnSessions(
      request: FastifyRequest,
      reason: 'logout' | 'revoked',
      choose: (trx: Transaction) => Promise<{ only?: string[]; except?: string | undefined }>,
    ): Promise<string[]> {
      const { caller, ip } = request
      const { userId } = caller
      const sessionIds = await db
        .transaction()
        .execute(async (trx) => endSessions(trx, { userId, ...(await choose(trx)), reason, ip, now: clock() }))
      if (sessionIds.length > 0) logSessionEnd(request, { userId, sessionIds, reason })
      return sessionIds
    }

    /** The session of the refresh token in the body, undefined without one. @throws ApiError 401, 403 when it is not the caller's. */
    async function findOwnSession(
      trx: Reader,
      { caller, body: { refreshToken } }: Pick<FastifyRequest<{ Body: { refreshToken?: string } }>, 'caller' | 'body'>,
    ): Promise<string | undefined> {
      if (refreshToken === undefined) return undefined
      const { sessionId } = tokens.readRefresh(refreshToken)
      const owner = await findSessionOwner(trx, sessionId)
      if (owner !== caller.userId) throw forbidden('The refresh token belongs to somebody else')
      return sessionId
    }
  }
