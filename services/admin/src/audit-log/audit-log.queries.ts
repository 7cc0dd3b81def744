import type { Reader } from '@parley/database'

export interface AuditFilter {
  action?: string
  actorId?: string
  /** Epoch milliseconds, inclusive, as `to`. */
  from?: number
  to?: number
}

/** One page of the audit log, newest first. Served by the indexes audit_log_newest, …_by_actor and …_by_action. */
export async function listEntries(
  db: Reader,
  filter: AuditFilter,
  { limit, offset }: { limit: number; offset: number },
) {
  const rows = await matching(db, filter)
    .selectAll()
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map(({ metadata, ...row }) => ({ ...row, ...(metadata === null ? {} : { metadata }) }))
}

export async function countEntries(db: Reader, filter: AuditFilter): Promise<number> {
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
