import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { endSessions, listSessions } from '@parley/accounts'
import { notFound, Ok, refusals, Session } from '@parley/contract'
import { type Deps, logSessionEnd } from '@parley/service'
import { Type } from 'typebox'
import { requireOwnSession } from './own-session.ts'

const reason = 'revoked'

const ListSessions = {
  summary: 'The caller’s active sessions, newest first',
  response: { 200: Type.Object({ sessions: Type.Array(Session) }), ...refusals(401) },
}

const EndSessions = {
  summary: 'End all sessions of the caller, or all but one',
  description: 'The session of `refreshToken`, if it is given, stays.',
  body: Type.Object({ refreshToken: Type.Optional(Type.String({ maxLength: 1_000 })) }),
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
  ({ db, tokens, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/auth/sessions', { schema: ListSessions }, async ({ caller }) => {
      const sessions = await listSessions(db, caller.userId, clock())
      return { sessions: sessions.map((session) => ({ ...session, isCurrent: session.id === caller.sessionId })) }
    })

    app.delete('/auth/sessions', { schema: EndSessions }, async (request) => {
      const {
        caller,
        ip,
        body: { refreshToken },
      } = request
      const given = refreshToken === undefined ? undefined : tokens.readRefresh(refreshToken)

      const ended = await db.transaction().execute(async (trx) => {
        const except = given && (await requireOwnSession(trx, caller, given))
        return endSessions(trx, { userId: caller.userId, except, reason, ip, now: clock() })
      })
      if (ended.length > 0) logSessionEnd(request, { userId: caller.userId, sessionIds: ended, reason })

      return { success: true as const, ended: ended.length }
    })

    app.delete('/auth/sessions/:sessionId', { schema: EndSession }, async (request) => {
      const {
        caller,
        ip,
        params: { sessionId },
      } = request
      await db.transaction().execute(async (trx) => {
        const ended = await endSessions(trx, { userId: caller.userId, only: [sessionId], reason, ip, now: clock() })
        if (ended.length === 0) throw notFound('session')
      })
      logSessionEnd(request, { userId: caller.userId, sessionIds: [sessionId], reason })
      return { success: true as const }
    })
  }
