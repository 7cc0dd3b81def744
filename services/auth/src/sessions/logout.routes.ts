import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { endSessions } from '@parley/accounts'
import { Ok, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { requireOwnSession } from './own-session.ts'

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
    app.post('/auth/logout', { schema: Logout }, async ({ caller, body: { refreshToken } }) => {
      const given = refreshToken === undefined ? undefined : tokens.readRefresh(refreshToken)

      await db.transaction().execute(async (trx) => {
        const sessionId = given ? await requireOwnSession(trx, caller, given) : caller.sessionId
        await endSessions(trx, { userId: caller.userId, only: [sessionId], now: clock() })
      })

      return { success: true as const, message: 'Signed out' }
    })
  }
