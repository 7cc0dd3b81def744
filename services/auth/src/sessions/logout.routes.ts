import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { endSessions } from '@parley/accounts'
import { Ok, refusals } from '@parley/contract'
import { type Deps, logSessionEnd } from '@parley/service'
import { Type } from 'typebox'
import { requireOwnSession } from './own-session.ts'

const reason = 'logout'

const Logout = {
  summary: 'End a session',
  description:
    'The session of the given refresh token, which must be the caller’s own; without one, the current session.',
  body: Type.Object({ refreshToken: Type.Optional(Type.String({ maxLength: 1_000 })) }),
  response: { 200: Type.Object({ ...Ok.properties, message: Type.String() }), ...refusals(400, 401, 403) },
}

export const logoutRoutes =
  ({ db, tokens, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post('/auth/logout', { schema: Logout }, async (request) => {
      const {
        caller,
        ip,
        body: { refreshToken },
      } = request
      const given = refreshToken === undefined ? undefined : tokens.readRefresh(refreshToken)

      const sessionIds = await db.transaction().execute(async (trx) => {
        const sessionId = given ? await requireOwnSession(trx, caller, given) : caller.sessionId
        return endSessions(trx, { userId: caller.userId, only: [sessionId], reason, ip, now: clock() })
      })
      if (sessionIds.length > 0) logSessionEnd(request, { userId: caller.userId, sessionIds, reason })

      return { success: true as const, message: 'Signed out' }
    })
  }
