import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel } from '@parley/access'
import { exitServer, renameUser } from '@parley/accounts'
import { HasMore, invalid, ListingQuery, limits, Ok, refusals, User, UserView } from '@parley/contract'
import { type Deps, logSessionEnd, sendJsonText } from '@parley/service'
import { Type } from 'typebox'
import { listUsers, listUsersById, searchUsers } from './people.queries.ts'

const mostIds = 200
const foundPageSize = 20

const ListUsers = {
  summary: 'Everybody, by name, or those who are asked for',
  querystring: Type.Object({
    ...ListingQuery(limits.peoplePageSize).properties,
    ids: Type.Optional(
      Type.String({
        description: `The people with these ids, at most ${mostIds}, with commas between; unknown ones are left out`,
      }),
    ),
    q: Type.Optional(
      Type.String({
        maxLength: limits.email,
        description:
          `Those of whom a word of the name, or the address, begins with this, in the order of these words: ` +
          `\`limit\` of them, ${foundPageSize} unless given, ${limits.pageSize} at most`,
      }),
    ),
    channelId: Type.Optional(Type.String({ description: 'With `q`: the members of this channel come first' })),
  }),
  response: { 200: Type.Object({ users: Type.Array(User), hasMore: HasMore }), ...refusals(400, 401, 403, 404) },
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

function readIds(text: string): string[] {
  const ids = text.split(',')
  if (ids.length > mostIds) throw invalid(`ids must be at most ${mostIds} ids`)
  return ids
}

export const peopleRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/users', { schema: ListUsers }, async ({ caller, query }, reply) => {
      const { ids, q, channelId, ...page } = query
      if (ids !== undefined && q !== undefined) throw invalid('ids and q cannot be given together')
      if (page.after !== undefined && (ids ?? q) !== undefined) throw invalid('after cannot be given with ids or q')
      if (channelId !== undefined && q === undefined) throw invalid('channelId can only be given with q')

      if (ids !== undefined) return sendJsonText(reply, await listUsersById(db, readIds(ids)))
      if (q === undefined) return sendJsonText(reply, await listUsers(db, page))
      const channel = channelId === undefined ? undefined : await accessChannel(db, caller, channelId)
      return sendJsonText(reply, await searchUsers(db, { q, limit: page.limit ?? foundPageSize, channel }))
    })

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
