import type { Database } from '@parley/database'
import { type Deps, refuseAs, scimForm } from '@parley/service'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { resourceTypes, schemas, serviceProviderConfig } from './discovery.ts'
import {
  groupResource,
  groupVersion,
  readGroup,
  readGroupPatch,
  type ScimGroup,
  type WantedGroup,
} from './group-resource.ts'
import { findScimClient, type ScimChangeContext } from './scim-clients.ts'
import {
  filterableGroupAttributes,
  findScimGroup,
  listGroupsOfUsers,
  listMembersByGroup,
  listScimGroups,
} from './scim-groups.queries.ts'
import { changeScimGroup, createScimGroup, deleteScimGroup } from './scim-groups.ts'
import { isAskedFor, queryOf, readPage } from './scim-query.ts'
import { type ResourceKind, scimRoute, serveResources } from './scim-resources.routes.ts'
import { listOf, refuse, sendScim } from './scim-responses.ts'
import { filterableUserAttributes, findScimUser, listScimUsers } from './scim-users.queries.ts'
import { changeScimUser, createScimUser, deleteScimUser } from './scim-users.ts'
import { readUser, readUserPatch, type ScimUser, userResource, userVersion, type WantedUser } from './user-resource.ts'

/**
 * SCIM 2.0 (RFC 7643, 7644) for the directories of an organisation. The routes have no schemas, because the
 * names of SCIM attributes are not case-sensitive, and SCIM has its own form of errors.
 */
export const scimRoutes =
  (deps: Deps): FastifyPluginAsync =>
  async (app) => {
    const { db, config, clock } = deps
    const baseUrl = config.auth.appUrl.replace(/\/$/, '')
    /** The client of each request, as the actor of its changes. */
    const clients = new WeakMap<FastifyRequest, string>()

    // Some directories put a slash at the end of each path.
    app.addHook('onRoute', ({ routePath, ...route }) => {
      if (route.method !== 'HEAD' && !routePath.endsWith('/')) app.route({ ...route, url: `${routePath}/` })
    })
    app.setErrorHandler(refuseAs(scimForm))
    app.setNotFoundHandler(() => refuse(404, 'There is no such endpoint'))
    // The token is checked after the body has arrived. So a token that is revoked while the body arrives has no effect.
    app.addHook('preHandler', async (request) => {
      if (request.is404) return
      clients.set(request, await findScimClient(deps, request))
    })

    const contextOf = (request: FastifyRequest): ScimChangeContext => ({
      source: 'scim',
      actorId: clients.get(request)!,
      ip: request.ip,
      now: clock(),
      autoJoin: config.chat.autoJoin,
      adminGroups: config.scim.adminGroups,
      ifMatch: request.headers['if-match'],
    })

    app.get('/ServiceProviderConfig', scimRoute, async ({ query }, reply) => {
      refuseFilter(query)
      return sendScim(reply, serviceProviderConfig(baseUrl))
    })
    serveDescriptions('/ResourceTypes', resourceTypes(baseUrl))
    serveDescriptions('/Schemas', schemas(baseUrl))
    app.all('/Me', scimRoute, async () => refuse(501, 'A SCIM client has no user, so there is no /Me'))
    app.all('/Bulk', scimRoute, async () => refuse(501, 'There are no bulk operations'))

    /** The list of these descriptions, and each one by its id. */
    function serveDescriptions(path: string, items: { id: string }[]) {
      app.get(path, scimRoute, async ({ query }, reply) => {
        refuseFilter(query)
        return sendScim(reply, listOf(items, items.length, 1))
      })
      app.get<{ Params: { id: string } }>(`${path}/:id`, scimRoute, async ({ params }, reply) =>
        sendScim(reply, items.find(({ id }) => id === params.id) ?? refuse(404, 'There is no such resource')),
      )
    }

    const options = { db, baseUrl, contextOf }
    const findUsers = serveResources(app, options, users(db, baseUrl))
    const findGroups = serveResources(app, options, groups(db, baseUrl))

    // People and then groups, as one list.
    app.post('/.search', scimRoute, async ({ body }, reply) => {
      const query = queryOf(body)
      const page = readPage(query, filterableUserAttributes)
      const people = await findUsers(query, page)
      const { resources, total } = await findGroups(query, {
        ...readPage(query, filterableGroupAttributes),
        offset: Math.max(0, page.offset - people.total),
        limit: page.limit - people.resources.length,
      })
      return sendScim(reply, listOf([...people.resources, ...resources], people.total + total, page.offset + 1))
    })
  }

/** @throws ProtocolRefusal 403 when a request filters the description of the server (RFC 7644, 4). */
function refuseFilter(query: unknown): void {
  if ((query as Record<string, unknown>).filter !== undefined) refuse(403, 'This endpoint has no filters')
}

/** `/Users` (RFC 7643, 4.1) */
const users = (db: Database, baseUrl: string): ResourceKind<ScimUser, ReturnType<typeof readUser>, WantedUser> => ({
  path: '/Users',
  name: 'user',
  filterable: filterableUserAttributes,
  list: (page) => listScimUsers(db, page),
  find: (id) => findScimUser(db, id),
  async resourcesOf(rows, query) {
    const groups = isAskedFor('groups', query) ? await listGroupsOfUsers(db, rows) : undefined
    return rows.map((user) => userResource(user, baseUrl, groups?.get(user.id)))
  },
  versionOf: userVersion,
  readWhole: readUser,
  readPatch: readUserPatch,
  create: createScimUser,
  change: changeScimUser,
  delete: deleteScimUser,
  patchHasEmptyResponse: false,
})

/** `/Groups` (RFC 7643, 4.2) */
const groups = (db: Database, baseUrl: string): ResourceKind<ScimGroup, ReturnType<typeof readGroup>, WantedGroup> => ({
  path: '/Groups',
  name: 'group',
  filterable: filterableGroupAttributes,
  list: (page, query) => listScimGroups(db, page, { withMembers: isAskedFor('members', query) }),
  find: (id) => findScimGroup(db, id),
  async resourcesOf(rows, query) {
    const members = isAskedFor('members', query) ? await listMembersByGroup(db, rows) : undefined
    return rows.map((group) => groupResource(group, baseUrl, members?.get(group.id)))
  },
  versionOf: groupVersion,
  readWhole: readGroup,
  readPatch: readGroupPatch,
  create: createScimGroup,
  change: changeScimGroup,
  delete: deleteScimGroup,
  patchHasEmptyResponse: true,
})
