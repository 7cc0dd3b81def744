import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Id, Nullable, PageLimit, refusals, Timestamp } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { countEntries, listEntries } from './audit-log.queries.ts'

const largestPage = 1_000

const Moment = Type.Optional(
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Epoch milliseconds, inclusive' }),
)

export const AuditEntry = Type.Object({
  id: Id,
  action: Type.String(),
  actorId: Type.String(),
  targetType: Type.String(),
  targetId: Type.String(),
  metadata: Type.Optional(
    Type.Unsafe<unknown>({ type: 'object', additionalProperties: true, description: 'What changed' }),
  ),
  ip: Nullable(Type.String({ description: 'Address of the client' })),
  createdAt: Timestamp,
})

const ListEntries = {
  summary: 'Who did what, newest first',
  querystring: Type.Object({
    limit: PageLimit(100),
    offset: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
    action: Type.Optional(Type.String({ examples: ['channel.create'] })),
    actorId: Type.Optional(Id),
    from: Moment,
    to: Moment,
  }),
  response: {
    200: Type.Object({
      entries: Type.Array(AuditEntry),
      total: Type.Integer({ description: 'Entries that match, on all pages' }),
      hasMore: Type.Boolean(),
    }),
    ...refusals(400, 401, 403),
  },
}

export const auditLogRoutes =
  ({ db }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/admin/audit-log', { schema: ListEntries, config: { access: 'admin' } }, async ({ query }) => {
      const { limit, offset, ...filter } = query
      const entries = await listEntries(db, filter, { limit: Math.min(limit, largestPage), offset })
      const total = await countEntries(db, filter)
      return { entries, total, hasMore: offset + entries.length < total }
    })
  }
