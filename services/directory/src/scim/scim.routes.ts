import { timingSafeEqual } from 'node:crypto'
import { unauthorized } from '@parley/contract'
import type { Database, Transaction, UserRow } from '@parley/database'
import { isScimToken } from '@parley/identity'
import { bearerToken, type Deps, refuseAs, scimForm } from '@parley/service'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { ScimChangeContext, ScimContext } from './admin-groups.ts'
import { resourceTypes, schemas, serviceProviderConfig } from './discovery.ts'
import {
  groupResource,
  groupVersion,
  readGroup,
  readGroupPatch,
  type ScimGroup,
  type WantedGroup,
} from './group-resource.ts'
import type { FilterAttribute } from './scim-filter.ts'
import {
  changeScimGroup,
  createScimGroup,
  deleteScimGroup,
  filterableGroupAttributes,
  findScimGroup,
  listGroupsOfUsers,
  listMembersByGroup,
  listScimGroups,
} from './scim-groups.ts'
import {
  type AttributeQuery,
  isAskedFor,
  isExpected,
  listOf,
  type Page,
  queryOf,
  readPage,
  refuse,
  selectAttributes,
  sendScim,
} from './scim-responses.ts'
import {
  changeScimUser,
  createScimUser,
  deleteScimUser,
  filterableUserAttributes,
  findScimUser,
  listScimUsers,
} from './scim-users.ts'
import { readUser, readUserPatch, userResource, userVersion, type WantedUser } from './user-resource.ts'

/** `lastUsedAt` of a client is stored to the minute. */
const useMs = 60_000

/**
 * SCIM 2.0 (RFC 7643, 7644) for the directories of an organisation. The routes have no schemas, because the
 * names of SCIM attributes are not case-sensitive, and SCIM has its own form of errors.
 */
export const scimRoutes =
  (deps: Deps): FastifyPluginAsync =>
  async (app) => {
    const { db, config, clock } = deps
    const baseUrl = config.auth.appUrl.replace(/\/$/, '')
    const route = { config: { access: 'claims' }, schema: { hide: true } } as const
    const clients = new WeakMap<FastifyRequest, string>()

    app.setErrorHandler(refuseAs(scimForm))
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

    const contextOf = (request: FastifyRequest): ScimChangeContext => ({
      source: 'scim',
      actorId: clients.get(request)!,
      ip: request.ip,
      now: clock(),
      autoJoin: config.chat.autoJoin,
      adminGroups: config.scim.adminGroups,
      ifMatch: request.headers['if-match'],
    })

    app.get('/ServiceProviderConfig', route, async ({ query }, reply) => {
      refuseFilter(query)
      return sendScim(reply, serviceProviderConfig(baseUrl))
    })
    serveDescriptions('/ResourceTypes', resourceTypes(baseUrl))
    serveDescriptions('/Schemas', schemas(baseUrl))
    app.all('/Me', route, async () => refuse(501, 'A SCIM client has no user, so there is no /Me'))
    app.all('/Bulk', route, async () => refuse(501, 'There are no bulk operations'))

    /** The list of these descriptions, and each one by its id. */
    function serveDescriptions(path: string, items: { id: string }[]) {
      app.get(path, route, async ({ query }, reply) => {
        refuseFilter(query)
        return sendScim(reply, listOf(items, items.length, 1))
      })
      app.get<{ Params: { id: string } }>(`${path}/:id`, route, async ({ params }, reply) =>
        sendScim(reply, items.find(({ id }) => id === params.id) ?? refuse(404, 'There is no such resource')),
      )
    }

    const findUsers = serveResources(app, { db, baseUrl, contextOf }, users(deps.db, baseUrl))
    const findGroups = serveResources(app, { db, baseUrl, contextOf }, groups(deps.db, baseUrl))

    // People and then groups, as one list.
    app.post('/.search', route, async ({ body }, reply) => {
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
const users = (db: Database, baseUrl: string): ResourceKind<UserRow, ReturnType<typeof readUser>, WantedUser> => ({
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

/** A kind of resource, users or groups, as its routes need it. */
interface ResourceKind<Row extends { id: string }, Whole extends Part, Part> {
  /** `/Users` */
  path: string
  /** `user` */
  name: string
  filterable: Record<string, FilterAttribute>
  /** A page of resources. It may have fewer than asked for, but never none if there are more. */
  list(page: Page, query: AttributeQuery): Promise<{ rows: readonly Row[]; total: number }>
  find(id: string): Promise<Row | undefined>
  /** Turns rows into resources. It may leave out what the query does not ask for. */
  resourcesOf(rows: readonly Row[], query: AttributeQuery): Promise<object[]>
  versionOf(row: Row): string
  readWhole(body: unknown): Whole
  readPatch(body: unknown): Part
  create(trx: Transaction, wanted: Whole, context: ScimContext): Promise<Row>
  change(trx: Transaction, id: string, wanted: Part, context: ScimChangeContext): Promise<Row>
  delete(trx: Transaction, id: string, context: ScimChangeContext): Promise<void>
  /**
   * Whether the response to a PATCH is empty, because the resource may be large. A request that names attributes gets
   * them (RFC 7644, 3.5.2).
   */
  patchHasEmptyResponse: boolean
}

type OneResource = { Params: { id: string } }

interface ResourceOptions {
  db: Database
  baseUrl: string
  contextOf(request: FastifyRequest): ScimChangeContext
}

/** Finds resources of one kind as a list. */
type FindResources = (query: AttributeQuery, page: Page) => Promise<{ resources: object[]; total: number }>

/** The routes of a kind of resource (RFC 7644, 3.3 to 3.6). The hooks of `scimRoutes` run before them. */
function serveResources<Row extends { id: string }, Whole extends Part, Part>(
  app: FastifyInstance,
  { db, baseUrl, contextOf }: ResourceOptions,
  kind: ResourceKind<Row, Whole, Part>,
): FindResources {
  const { path, versionOf } = kind
  const route = { config: { access: 'claims' }, schema: { hide: true } } as const

  const find: FindResources = async (query, page) => {
    const { rows, total } = await kind.list(page, query)
    const resources = await kind.resourcesOf(rows, query)
    return { total, resources: resources.map((each) => selectAttributes(each, query)) }
  }

  const list = async (query: object, reply: FastifyReply) => {
    const page = readPage(query, kind.filterable)
    const { resources, total } = await find(query, page)
    return sendScim(reply, listOf(resources, total, page.offset + 1))
  }

  /** Sends one resource with its version. */
  async function sendResource(reply: FastifyReply, row: Row, query: AttributeQuery) {
    const [resource] = await kind.resourcesOf([row], query)
    return sendScim(reply.header('etag', versionOf(row)), selectAttributes(resource!, query))
  }

  const change = (request: FastifyRequest<OneResource>, wanted: Part) =>
    db.transaction().execute((trx) => kind.change(trx, request.params.id, wanted, contextOf(request as FastifyRequest)))

  app.get(path, route, ({ query }, reply) => list(query as object, reply))
  app.post(`${path}/.search`, route, ({ body }, reply) => list(queryOf(body), reply))

  app.post(path, route, async (request, reply) => {
    const wanted = kind.readWhole(request.body)
    const row = await db.transaction().execute((trx) => kind.create(trx, wanted, contextOf(request)))
    reply.code(201).header('location', `${baseUrl}/scim/v2${path}/${row.id}`)
    return sendResource(reply, row, request.query as AttributeQuery)
  })

  app.get<OneResource>(`${path}/:id`, route, async ({ params, query, headers }, reply) => {
    const row = (await kind.find(params.id)) ?? refuse(404, `There is no such ${kind.name}`)
    const known = headers['if-none-match']
    if (known !== undefined && isExpected(known, versionOf(row)))
      return reply.code(304).header('etag', versionOf(row)).send()
    return sendResource(reply, row, query as AttributeQuery)
  })

  app.put<OneResource>(`${path}/:id`, route, async (request, reply) =>
    sendResource(reply, await change(request, kind.readWhole(request.body)), request.query as AttributeQuery),
  )

  app.patch<OneResource>(`${path}/:id`, route, async (request, reply) => {
    const row = await change(request, kind.readPatch(request.body))
    const query = request.query as AttributeQuery
    const isEmpty =
      kind.patchHasEmptyResponse && query.attributes === undefined && query.excludedAttributes === undefined
    return isEmpty ? reply.code(204).header('etag', versionOf(row)).send() : sendResource(reply, row, query)
  })

  app.delete<OneResource>(`${path}/:id`, route, async (request, reply) => {
    await db.transaction().execute((trx) => kind.delete(trx, request.params.id, contextOf(request as FastifyRequest)))
    return reply.code(204).send()
  })

  return find
}
