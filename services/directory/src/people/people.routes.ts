import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel } from '@parley/access'
import { exitServer, lockUser, renameUser, updateProfile } from '@parley/accounts'
import {
  forbidden,
  HasMore,
  invalid,
  ListingOrder,
  ListingQuery,
  limits,
  NameText,
  Ok,
  refusals,
  User,
  UserView,
} from '@parley/contract'
import { userView } from '@parley/database'
import type { Caller } from '@parley/identity'
import { type Deps, logSessionEnd, sendJsonText } from '@parley/service'
import { type Static, Type } from 'typebox'
import { PersonIds, readPersonIds } from '../person-ids.ts'
import { listUsers, listUsersById, searchDeactivated, searchUsers } from './people.queries.ts'

const foundPageSize = 20

const ListUsers = {
  summary: 'List all people by name, or search for people',
  description: 'Guests see only themselves and the people with whom they share a channel or a conversation.',
  querystring: Type.Object({
    ...ListingQuery(limits.peoplePageSize).properties,
    order: ListingOrder,
    ids: PersonIds,
    q: Type.Optional(
      Type.String({
        maxLength: limits.email,
        description:
          `Only people whose address, or a word of whose name, begins with this text, ordered by these words. ` +
          `Case and accents are ignored. \`limit\` is ${foundPageSize} by default and at most ${limits.pageSize}`,
      }),
    ),
    channelId: Type.Optional(Type.String({ description: 'With `q`: the members of this channel come first' })),
    isActive: Type.Optional(
      Type.Enum(['true', 'false'], { description: 'With `q`, for admins: false finds deactivated people' }),
    ),
  }),
  response: { 200: Type.Object({ users: Type.Array(User), hasMore: HasMore }), ...refusals(400, 401, 403, 404) },
}

const UpdateMe = {
  summary: 'Change the caller’s names and title',
  description:
    'Fields that are left out stay as they are. An empty text removes the display name or the title. When the directory of the ' +
    'organisation provides these two, a change of them is refused with 409.',
  body: Type.Object({
    userName: Type.Optional(NameText(limits.userName)),
    displayName: Type.Optional(NameText(limits.displayName, { minLength: 0 })),
    title: Type.Optional(NameText(limits.title, { minLength: 0 })),
  }),
  response: { 200: Type.Object({ user: UserView }), ...refusals(400, 401, 409) },
}

const Exit = {
  summary: 'Leave the server for good',
  description: 'Ends all sessions and memberships of the caller. Their messages stay. The last admin cannot leave.',
  response: { 200: Type.Object({ ...Ok.properties, message: Type.String() }), ...refusals(400, 401) },
}

export const peopleRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/users', { schema: ListUsers }, async ({ caller, query }, reply) => {
      refuseContradictions(query)
      const { ids, q, channelId, isActive, ...page } = query
      if (ids !== undefined) return sendJsonText(reply, await listUsersById(db, caller, readPersonIds(ids)))
      if (q === undefined) return sendJsonText(reply, await listUsers(db, caller, page))
      const search = { q, limit: page.limit ?? foundPageSize, channelId }
      return sendJsonText(reply, await (isActive === 'false' ? findDeactivated : findActive)(caller, search))
    })

    app.put('/users/me', { schema: UpdateMe }, async ({ caller, ip, body }) => {
      const { userName, displayName, title } = body
      if ((userName ?? displayName ?? title) === undefined) throw invalid('userName, displayName or title is missing')
      const user = await db.transaction().execute(async (trx) => {
        if (userName !== undefined) await renameUser(trx, userName, { caller, ip })
        if (displayName === undefined && title === undefined) return lockUser(trx, caller.userId)
        const actor = { directory: null, actorId: caller.userId, ip }
        return updateProfile(trx, caller.userId, { displayName, title }, actor)
      })
      return { user: userView(user) }
    })

    app.post('/users/exit', { schema: Exit, config: { tokenScope: 'none' } }, async (request) => {
      const { caller, ip } = request
      await db.transaction().execute((trx) => exitServer(trx, { caller, ip, now: clock() }))
      logSessionEnd(request, { userId: caller.userId, reason: 'removed' })
      return { success: true as const, message: 'You have left the server' }
    })

    async function findDeactivated(caller: Caller, { q, limit }: Search): Promise<string> {
      if (!caller.isAdmin) throw forbidden('Only admins can search for deactivated people')
      return searchDeactivated(db, q, limit)
    }

    async function findActive(caller: Caller, { q, limit, channelId }: Search): Promise<string> {
      const channel = channelId === undefined ? undefined : await accessChannel(db, caller, channelId)
      return searchUsers(db, caller, { q, limit, channel })
    }
  }

interface Search {
  q: string
  limit: number
  channelId: string | undefined
}

/** @throws ApiError 400 when the parameters do not belong together. */
function refuseContradictions({ ids, q, after, channelId, isActive }: Static<typeof ListUsers.querystring>): void {
  if (ids !== undefined && q !== undefined) throw invalid('ids and q cannot be given together')
  if (after !== undefined && (ids ?? q) !== undefined) throw invalid('after cannot be given with ids or q')
  if (channelId !== undefined && q === undefined) throw invalid('channelId can only be given with q')
  if (isActive !== undefined && q === undefined) throw invalid('isActive can only be given with q')
}
