import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { refusals, UserView } from '@parley/contract'
import { Type } from 'typebox'

const GetCurrentUser = {
  summary: 'Who the caller is',
  response: { 200: Type.Object({ user: UserView }), ...refusals(401) },
}

export const currentUserRoutes = (): FastifyPluginAsyncTypebox => async (app) => {
  app.get('/auth/me', { schema: GetCurrentUser }, async ({ caller: { userId, userName, email, isAdmin } }) => ({
    user: { id: userId, userName, email, isAdmin },
  }))
}
