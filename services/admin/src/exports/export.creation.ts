import type { Act } from '@parley/accounts'
import type { Config } from '@parley/config'
import { audit, claimOf, type Database, once, recordJob, type Transaction, uuidv7 } from '@parley/database'
import { type ExportRow, insertExport } from './exports.queries.ts'

/** Asks for an export: a worker computes it. Who takes everything along is in the audit log, whatever becomes of it. */
export function createExport(
  { db, config }: { db: Database; config: Pick<Config, 'exports'> },
  { caller, ip, now }: Act,
  key?: string,
): Promise<ExportRow> {
  const claim = claimOf(caller.userId, key, 'POST /admin/exports')
  return db.transaction().execute((trx) => once(trx, claim, now, create))

  async function create(trx: Transaction): Promise<ExportRow> {
    const row = await insertExport(trx, {
      id: uuidv7(),
      requestedBy: caller.userId,
      state: 'waiting',
      createdAt: now,
      expiresAt: now + config.exports.keepHours * 3_600_000,
    })
    await recordJob(trx, 'compute-export', { exportId: row.id })
    await audit(trx, {
      action: 'export.create',
      actorId: caller.userId,
      targetType: 'export',
      targetId: row.id,
      ip,
    })
    return row
  }
}
