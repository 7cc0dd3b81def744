import type { Database, Transaction } from '@parley/database'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ExpectingAct, ScimAct } from './admin-groups.ts'
import { type AttributeQuery, selectAttributes } from './scim-attributes.ts'
import type { FilterAttribute } from './scim-filter.ts'
import { answer, listOf, type Page, queryOf, readPage, refuse } from './scim-replies.ts'

/** A kind of resource, users or groups, as its routes need it. */
export interface ResourceKind<Row extends { id: string }, Whole extends Part, Part> {
  /** `/Users` */
  path: string
  /** `user` */
  name: string
  filterable: Record<string, FilterAttribute>
  list(page: Page): Promise<{ rows: Row[]; total: number }>
  find(id: string): Promise<Row | undefined>
  /** Turns rows into resources. It may leave out what the query does not ask for. */
  describe(rows: readonly Row[], query: AttributeQuery): Promise<object[]>
  versionOf(row: Row): string
  readWhole(body: unknown): Whole
  readPatch(body: unknown): Part
  create(trx: Transaction, wanted: Whole, act: ScimAct): Promise<Row>
  change(trx: Transaction, id: string, wanted: Part, act: ExpectingAct): Promise<Row>
  delete(trx: Transaction, id: string, act: ExpectingAct): Promise<void>
  /** A PATCH is answered without the resource, which may be large, unless the request asks for attributes (RFC 7644, 3.5.2). */
  isPatchedSilently: boolean
}

type One = { Params: { id: string } }

interface ResourceOptions {
  db: Database
  baseUrl: string
  actOf(request: FastifyRequest): ExpectingAct
}

/** Finds resources of one kind as a list. */
export type FindResources = (query: AttributeQuery, page: Page) => Promise<{ resources: object[]; total: number }>

/** The routes of a kind of resource (RFC 7644, 3.3 to 3.6). The hooks of `scimRoutes` run before them. */
export function serveResources<Row extends { id: string }, Whole extends Part, Part>(
  app: FastifyInstance,
  { db, baseUrl, actOf }: ResourceOptions,
  kind: ResourceKind<Row, Whole, Part>,
): FindResources {
  const { path, versionOf } = kind
  const route = { config: { access: 'claims' }, schema: { hide: true } } as const

  const find: FindResources = async (query, page) => {
    const { rows, total } = await kind.list(page)
    const resources = await kind.describe(rows, query)
    return { total, resources: resources.map((each) => selectAttributes(each, query)) }
  }

  const list = async (query: object, reply: FastifyReply) => {
    const page = readPage(query, kind.filterable)
    const { resources, total } = await find(query, page)
    return answer(reply, listOf(resources, total, page.offset + 1))
  }

  /** Sends one resource with its version. */
  async function answerOne(reply: FastifyReply, row: Row, query: AttributeQuery) {
    const [resource] = await kind.describe([row], query)
    return answer(reply.header('etag', versionOf(row)), selectAttributes(resource!, query))
  }

  const change = (request: FastifyRequest<One>, wanted: Part) =>
    db.transaction().execute((trx) => kind.change(trx, request.params.id, wanted, actOf(request as FastifyRequest)))

  app.get(path, route, ({ query }, reply) => list(query as object, reply))
  app.post(`${path}/.search`, route, ({ body }, reply) => list(queryOf(body), reply))

  app.post(path, route, async (request, reply) => {
    const wanted = kind.readWhole(request.body)
    const row = await db.transaction().execute((trx) => kind.create(trx, wanted, actOf(request)))
    reply.code(201).header('location', `${baseUrl}/scim/v2${path}/${row.id}`)
    return answerOne(reply, row, request.query as AttributeQuery)
  })

  app.get<One>(`${path}/:id`, route, async ({ params, query, headers }, reply) => {
    const row = (await kind.find(params.id)) ?? refuse(404, `There is no such ${kind.name}`)
    if (headers['if-none-match'] === versionOf(row)) return reply.code(304).header('etag', versionOf(row)).send()
    return answerOne(reply, row, query as AttributeQuery)
  })

  app.put<One>(`${path}/:id`, route, async (request, reply) =>
    answerOne(reply, await change(request, kind.readWhole(request.body)), request.query as AttributeQuery),
  )

  app.patch<One>(`${path}/:id`, route, async (request, reply) => {
    const row = await change(request, kind.readPatch(request.body))
    const query = request.query as AttributeQuery
    const isSilent = kind.isPatchedSilently && query.attributes === undefined && query.excludedAttributes === undefined
    return isSilent ? reply.code(204).header('etag', versionOf(row)).send() : answerOne(reply, row, query)
  })

  app.delete<One>(`${path}/:id`, route, async (request, reply) => {
    await db.transaction().execute((trx) => kind.delete(trx, request.params.id, actOf(request as FastifyRequest)))
    return reply.code(204).send()
  })

  return find
}
