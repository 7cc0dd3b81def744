import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Id, Nullable, PageLimit, refusals, Timestamp } from '@parley/contract'
import type { Reader } from '@parley/database'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'

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
    Type.Unsafe<unknown>({
      type: 'object',
      additionalProperties: true,
      description: 'Details of the action, such as old and new values',
    }),
  ),
  ip: Nullable(Type.String({ description: 'Address of the client' })),
  createdAt: Timestamp,
})

const ListEntries = {
  summary: 'List the entries of the audit log, newest first',
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
      total: Type.Integer({ description: 'Number of matching entries on all pages' }),
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

interface AuditFilter {
  action?: string
  actorId?: string
  /** Epoch milliseconds, inclusive. */
  from?: number
  /** Epoch milliseconds, inclusive. */
  to?: number
}

/** One page of the audit log, newest first. Served by the indexes audit_log_newest, …_by_actor and …_by_action. */
async function listEntries(db: Reader, filter: AuditFilter, { limit, offset }: { limit: number; offset: number }) {
  const rows = await matching(db, filter)
    .selectAll()
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map(({ metadata, ...row }) => ({ ...row, ...(metadata === null ? {} : { metadata }) }))
}

async function countEntries(db: Reader, filter: AuditFilter): Promise<number> {
  const { total } = await matching(db, filter)
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

const matching = (db: Reader, { action, actorId, from, to }: AuditFilter) =>
  db
    .selectFrom('auditLog')
    .$if(action !== undefined, (query) => query.where('action', '=', action!))
    .$if(actorId !== undefined, (query) => query.where('actorId', '=', actorId!))
    .$if(from !== undefined, (query) => query.where('createdAt', '>=', from!))
    .$if(to !== undefined, (query) => query.where('createdAt', '<=', to!))
