import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { issueTokens, rotateRefresh, SessionReused } from '@parley/accounts'
import { refusals, Tokens } from '@parley/contract'
import { type Deps, logSessionEnd } from '@parley/service'
import { Type } from 'typebox'

const Refresh = {
  summary: 'Exchange a refresh token for new tokens',
  description: 'Needs no access token. The refresh token is rotated: use the new one from then on.',
  body: Type.Object({ refreshToken: Type.String({ maxLength: 1_000 }) }),
  response: { 200: Tokens, ...refusals(400, 401) },
}

export const refreshRoutes =
  ({ db, config, tokens, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
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
  }
