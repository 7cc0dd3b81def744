import type { Database, Transaction } from '@parley/database'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ScimChangeContext, ScimContext } from './scim-clients.ts'
import type { FilterAttribute } from './scim-filter.ts'
import { type AttributeQuery, type Page, queryOf, readPage, selectAttributes } from './scim-query.ts'
import { isExpected, listOf, refuse, sendScim } from './scim-responses.ts'

/** The options of every route of SCIM. The hook of `scimRoutes` checks the token. */
export const scimRoute = { config: { access: 'claims' }, schema: { hide: true } } as const

/**
 * A kind of resource, users or groups, as its routes need it. A directory sends a `Whole` resource to create or replace one, and a `Part`
 * to change one.
 */
export interface ResourceKind<Row extends { id: string }, Whole extends Part, Part> {
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

interface ResourceOptions {
  db: Database
  baseUrl: string
  contextOf(request: FastifyRequest): ScimChangeContext
}

/** Finds resources of one kind as a list. */
type FindResources = (query: AttributeQuery, page: Page) => Promise<{ resources: object[]; total: number }>

type OneResource = { Params: { id: string } }

/**
 * The routes of a kind of resource (RFC 7644, 3.3 to 3.6). The hooks of `scimRoutes` run before them. Returns a function that finds
 * these resources.
 */
export function serveResources<Row extends { id: string }, Whole extends Part, Part>(
  app: FastifyInstance,
  options: ResourceOptions,
  kind: ResourceKind<Row, Whole, Part>,
): FindResources {
  const { path } = kind

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

  app.get(path, scimRoute, ({ query }, reply) => list(query as object, reply))
  app.post(`${path}/.search`, scimRoute, ({ body }, reply) => list(queryOf(body), reply))
  serveSingleResources(app, options, kind)
  return find
}

/** The routes that create, read, change and delete one resource. */
function serveSingleResources<Row extends { id: string }, Whole extends Part, Part>(
  app: FastifyInstance,
  { db, baseUrl, contextOf }: ResourceOptions,
  kind: ResourceKind<Row, Whole, Part>,
) {
  const { path, versionOf } = kind

  /** Sends one resource with its version. */
  async function sendResource(reply: FastifyReply, row: Row, query: AttributeQuery) {
    const [resource] = await kind.resourcesOf([row], query)
    return sendScim(reply.header('etag', versionOf(row)), selectAttributes(resource!, query))
  }

  const change = (request: FastifyRequest<OneResource>, wanted: Part) =>
    db.transaction().execute((trx) => kind.change(trx, request.params.id, wanted, contextOf(request as FastifyRequest)))

  app.post(path, scimRoute, async (request, reply) => {
    const wanted = kind.readWhole(request.body)
    const row = await db.transaction().execute((trx) => kind.create(trx, wanted, contextOf(request)))
    reply.code(201).header('location', `${baseUrl}/scim/v2${path}/${row.id}`)
    return sendResource(reply, row, request.query as AttributeQuery)
  })

  app.get<OneResource>(`${path}/:id`, scimRoute, async ({ params, query, headers }, reply) => {
    const row = (await kind.find(params.id)) ?? refuse(404, `There is no such ${kind.name}`)
    const known = headers['if-none-match']
    if (known !== undefined && isExpected(known, versionOf(row)))
      return reply.code(304).header('etag', versionOf(row)).send()
    return sendResource(reply, row, query as AttributeQuery)
  })

  app.put<OneResource>(`${path}/:id`, scimRoute, async (request, reply) =>
    sendResource(reply, await change(request, kind.readWhole(request.body)), request.query as AttributeQuery),
  )

  app.patch<OneResource>(`${path}/:id`, scimRoute, async (request, reply) => {
    const row = await change(request, kind.readPatch(request.body))
    const query = request.query as AttributeQuery
    const isEmpty =
      kind.patchHasEmptyResponse && query.attributes === undefined && query.excludedAttributes === undefined
    return isEmpty ? reply.code(204).header('etag', versionOf(row)).send() : sendResource(reply, row, query)
  })

  app.delete<OneResource>(`${path}/:id`, scimRoute, async (request, reply) => {
    await db.transaction().execute((trx) => kind.delete(trx, request.params.id, contextOf(request as FastifyRequest)))
    return reply.code(204).send()
  })
}
