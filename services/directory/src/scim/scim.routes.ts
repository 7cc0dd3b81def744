import { timingSafeEqual } from 'node:crypto'
import { unauthorized } from '@parley/contract'
import type { Database, UserRow } from '@parley/database'
import { isScimToken } from '@parley/identity'
import { bearerToken, type Deps, logRefusal } from '@parley/service'
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify'
import { resourceTypes, schemas, serviceProviderConfig } from './discovery.ts'
import {
  groupResource,
  readGroup,
  readGroupPatch,
  type ScimGroup,
  versionOf as versionOfGroup,
  type WantedGroup,
} from './group-resource.ts'
import { isAskedFor } from './scim-attributes.ts'
import { scimErrorOf } from './scim-error.ts'
import {
  filterableGroupAttributes,
  findScimGroup,
  listGroupsOfUsers,
  listMembersByGroup,
  listScimGroups,
} from './scim-groups.queries.ts'
import { changeScimGroup, createScimGroup, deleteScimGroup } from './scim-groups.ts'
import { answer, listOf, queryOf, readPage, refuse } from './scim-replies.ts'
import { type ResourceKind, serveResources } from './scim-resources.routes.ts'
import { filterableAttributes, findScimUser, listScimUsers } from './scim-users.queries.ts'
import { changeScimUser, createScimUser, deleteScimUser } from './scim-users.ts'
import {
  readUser,
  readPatch as readUserPatch,
  userResource,
  versionOf as versionOfUser,
  type WantedUser,
} from './user-resource.ts'

const useMs = 60_000

/**
 * SCIM 2.0 (RFC 7643, 7644) for the directories of an organisation. The routes have no schemas: The names of SCIM
 * attributes are not case-sensitive, and SCIM has its own form of errors.
 */
export const scimRoutes =
  (deps: Deps): FastifyPluginAsync =>
  async (app) => {
    const { db, config, clock } = deps
    const baseUrl = config.auth.appUrl.replace(/\/$/, '')
    const route = { config: { access: 'claims' }, schema: { hide: true } } as const
    const clients = new WeakMap<FastifyRequest, string>()

    app.setErrorHandler((error: Error, request, reply) => {
      const { status, retryAfter, body } = scimErrorOf(error)
      logRefusal(request, error, { status })
      if (retryAfter !== undefined) reply.header('retry-after', Math.ceil(retryAfter))
      if (status === 401) reply.header('www-authenticate', 'Bearer')
      return answer(reply.code(status), body)
    })
    app.setNotFoundHandler(() => refuse(404, 'There is no such endpoint'))
    // The token is checked after the body has arrived. A client that sends the body slowly cannot keep a revoked right.
    app.addHook('preHandler', async (request) => {
      if (request.is404) return
      clients.set(request, await findClient(request))
    })

    /** The client of the request, as the actor of its changes. @throws ApiError 401. */
    async function findClient(request: FastifyRequest): Promise<string> {
      const { sessionId: clientId, tokenHash } = request.claims
      const client = isScimToken(bearerToken(request))
        ? await db
            .selectFrom('scimClients')
            .select(['tokenHash', 'lastUsedAt'])
            .where('id', '=', clientId)
            .where('deletedAt', 'is', null)
            .executeTakeFirst()
        : undefined
      if (!client || !tokenHash || !timingSafeEqual(client.tokenHash, tokenHash)) {
        throw unauthorized('The token is not that of a SCIM client')
      }
      deps.tokens.noteGenuine(request.claims)
      const now = clock()
      if (now - (client.lastUsedAt ?? 0) >= useMs) {
        await db.updateTable('scimClients').set({ lastUsedAt: now }).where('id', '=', clientId).execute()
      }
      return `scim:${clientId}`
    }

    const actOf = (request: FastifyRequest) => ({
      actorId: clients.get(request)!,
      ip: request.ip,
      now: clock(),
      autoJoin: config.chat.autoJoin,
      adminGroups: config.scim.adminGroups,
      ifMatch: request.headers['if-match'],
    })

    app.get('/ServiceProviderConfig', route, async (_request, reply) => answer(reply, serviceProviderConfig(baseUrl)))
    describe(app, '/ResourceTypes', resourceTypes(baseUrl))
    describe(app, '/Schemas', schemas(baseUrl))
    app.all('/Me', route, async () => refuse(501, 'A SCIM client has no user, so there is no /Me'))
    app.all('/Bulk', route, async () => refuse(501, 'There are no bulk operations'))

    function describe(to: FastifyInstance, path: string, items: { id: string }[]) {
      to.get(path, route, async (_request, reply) => answer(reply, listOf(items, items.length, 1)))
      to.get<{ Params: { id: string } }>(`${path}/:id`, route, async ({ params }, reply) =>
        answer(reply, items.find(({ id }) => id === params.id) ?? refuse(404, 'There is no such resource')),
      )
    }

    const findUsers = serveResources(app, { db, baseUrl, actOf }, users(deps.db, baseUrl))
    const findGroups = serveResources(app, { db, baseUrl, actOf }, groups(deps.db, baseUrl))

    // People and then groups, as one list.
    app.post('/.search', route, async ({ body }, reply) => {
      const query = queryOf(body)
      const page = readPage(query, filterableAttributes)
      const people = await findUsers(query, page)
      const { resources, total } = await findGroups(query, {
        ...readPage(query, filterableGroupAttributes),
        offset: Math.max(0, page.offset - people.total),
        limit: page.limit - people.resources.length,
      })
      return answer(reply, listOf([...people.resources, ...resources], people.total + total, page.offset + 1))
    })
  }

/** `/Users` (RFC 7643, 4.1) */
const users = (db: Database, baseUrl: string): ResourceKind<UserRow, ReturnType<typeof readUser>, WantedUser> => ({
  path: '/Users',
  name: 'user',
  filterable: filterableAttributes,
  list: (page) => listScimUsers(db, page),
  find: (id) => findScimUser(db, id),
  async describe(rows, query) {
    const groups = isAskedFor('groups', query) ? await listGroupsOfUsers(db, rows) : undefined
    return rows.map((user) => userResource(user, baseUrl, groups?.get(user.id)))
  },
  versionOf: versionOfUser,
  readWhole: readUser,
  readPatch: readUserPatch,
  create: createScimUser,
  change: changeScimUser,
  delete: deleteScimUser,
  isPatchedSilently: false,
})

/** `/Groups` (RFC 7643, 4.2) */
const groups = (db: Database, baseUrl: string): ResourceKind<ScimGroup, ReturnType<typeof readGroup>, WantedGroup> => ({
  path: '/Groups',
  name: 'group',
  filterable: filterableGroupAttributes,
  list: (page) => listScimGroups(db, page),
  find: (id) => findScimGroup(db, id),
  async describe(rows, query) {
    const members = isAskedFor('members', query) ? await listMembersByGroup(db, rows) : undefined
    return rows.map((group) => groupResource(group, baseUrl, members?.get(group.id)))
  },
  versionOf: versionOfGroup,
  readWhole: readGroup,
  readPatch: readGroupPatch,
  create: createScimGroup,
  change: changeScimGroup,
  delete: deleteScimGroup,
  isPatchedSilently: true,
})
