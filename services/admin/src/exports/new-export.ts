import { lockCallerAsAdmin, type RequestContext } from '@parley/accounts'
import { audit, claimOf, lockByName, once, recordJob, type Transaction, uuidv7 } from '@parley/database'
import type { Deps } from '@parley/service'
import { findWaitingExport, insertExport } from './exports.queries.ts'
import type { ExportRow } from './exports.schema.ts'

/** Creates an export, which a worker computes. It has an entry in the audit log even if it fails. */
export function createExport({ db, config }: Deps, context: RequestContext, key?: string): Promise<ExportRow> {
  const claim = claimOf(context.caller.userId, key, 'POST /admin/exports')
  return once(db, { claim, now: context.now }, async (trx) => {
    await lockCallerAsAdmin(trx, context)
    return recordExport(trx, config, context)
  })
}

/**
 * An export of the caller that no worker has begun, or a new one. A client that repeats its request would otherwise
 * fill the queue. The snapshot of a waiting export is made after this request, too.
 */
export function findOrCreateExport({ db, config }: Deps, context: RequestContext): Promise<ExportRow> {
  return db.transaction().execute(async (trx) => {
    await lockCallerAsAdmin(trx, context)
    // Otherwise two requests at the same time would both find no waiting export.
    await lockByName(trx, `exports of ${context.caller.userId}`)
    return (await findWaitingExport(trx, context)) ?? (await recordExport(trx, config, context))
  })
}

/** Inserts an export, and records its job and its entry in the audit log. */
async function recordExport(
  trx: Transaction,
  config: Deps['config'],
  { caller, ip, now }: RequestContext,
): Promise<ExportRow> {
  const row = await insertExport(trx, {
    id: uuidv7(),
    requestedBy: caller.userId,
    state: 'waiting',
    createdAt: now,
    expiresAt: now + config.exports.keepHours * 3_600_000,
  })
  await recordJob(trx, 'compute-export', { exportId: row.id })
  await audit(trx, { action: 'export.create', actorId: caller.userId, targetType: 'export', targetId: row.id, ip })
  return row
}
