import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { issueTokens, rotateRefresh } from '@parley/accounts'
import { refusals, Tokens } from '@parley/contract'
import type { Deps } from '@parley/service'
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
    app.post('/auth/refresh', { schema: Refresh, config: { access: 'none' } }, async ({ body, ip }) => {
      const claims = tokens.readRefresh(body.refreshToken)
      const seconds = config.auth.refreshTokenExpirySeconds
      const session = await rotateRefresh(db, { claims, seconds, ip, now: clock() })
      return issueTokens(tokens, session, config.auth.jwtExpirySeconds)
    })
  }
