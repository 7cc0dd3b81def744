import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { exitServer, renameUser } from '@parley/accounts'
import { HasMore, ListingQuery, limits, Ok, refusals, User, UserView } from '@parley/contract'
import { type Deps, logSessionEnd, sendJsonText } from '@parley/service'
import { Type } from 'typebox'
import { listUsers } from './people.queries.ts'

const ListUsers = {
  summary: 'Everybody, by name',
  querystring: ListingQuery(limits.peoplePageSize),
  response: { 200: Type.Object({ users: Type.Array(User), hasMore: HasMore }), ...refusals(400, 401) },
}

const Rename = {
  summary: 'Change the caller’s display name',
  body: Type.Object({ userName: Type.String({ minLength: 1, maxLength: limits.userName }) }),
  response: { 200: Type.Object({ user: UserView }), ...refusals(400, 401) },
}

const Exit = {
  summary: 'Leave the server for good',
  description: 'Ends all sessions and memberships of the caller; their messages stay. The last admin cannot leave.',
  response: { 200: Type.Object({ ...Ok.properties, message: Type.String() }), ...refusals(400, 401) },
}

export const peopleRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/users', { schema: ListUsers }, async ({ query }, reply) =>
      sendJsonText(reply, await listUsers(db, query)),
    )

    app.put('/users/me', { schema: Rename }, async ({ caller, ip, body }) => ({
      user: await db.transaction().execute((trx) => renameUser(trx, body.userName, { caller, ip })),
    }))

    app.post('/users/exit', { schema: Exit }, async (request) => {
      const { caller, ip } = request
      await db.transaction().execute((trx) => exitServer(trx, { caller, ip, now: clock() }))
      logSessionEnd(request, { userId: caller.userId, reason: 'removed' })
      return { success: true as const, message: 'You have left the server' }
    })
  }
