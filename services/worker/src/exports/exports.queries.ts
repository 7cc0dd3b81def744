import { exportPartKey } from '@parley/blobs'
import { type Database, recordJob } from '@parley/database'
import type { Progress } from './export-document.ts'

/** Begins an attempt, which ends older ones, and returns its number. Returns undefined when there is nothing to do any more. */
export async function beginAttempt(db: Database, id: string, expiresAt: number): Promise<number | undefined> {
  const row = await db
    .updateTable('exports')
    .set(({ eb }) => ({
      attempt: eb('attempt', '+', 1),
      state: 'running',
      recordsDone: 0,
      recordsTotal: null,
      expiresAt,
    }))
    .where('id', '=', id)
    .where('state', 'in', ['waiting', 'running'])
    .returning('attempt')
    .executeTakeFirst()
  return row?.attempt
}

export interface Attempt {
  exportId: string
  attempt: number
}

/** Changes nothing when a newer attempt has begun or the export was deleted. */
const updateAttempt = (db: Database, { exportId, attempt }: Attempt) =>
  db.updateTable('exports').where('id', '=', exportId).where('attempt', '=', attempt).where('state', '=', 'running')

export async function updateProgress(
  db: Database,
  attempt: Attempt,
  { done, total, expiresAt }: Progress & { expiresAt: number },
): Promise<boolean> {
  const { numUpdatedRows } = await updateAttempt(db, attempt)
    .set({ recordsDone: done, recordsTotal: total, expiresAt })
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export async function markReady(
  db: Database,
  attempt: Attempt,
  { records, size, finishedAt, expiresAt }: { records: number; size: number; finishedAt: number; expiresAt: number },
): Promise<boolean> {
  const { numUpdatedRows } = await updateAttempt(db, attempt)
    .set({ state: 'ready', recordsDone: records, recordsTotal: records, size, finishedAt, expiresAt })
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Marks an export that will not be tried again. */
export async function markFailed(db: Database, id: string, finishedAt: number): Promise<void> {
  await db
    .updateTable('exports')
    .set({ state: 'failed', finishedAt })
    .where('id', '=', id)
    .where('state', 'in', ['waiting', 'running'])
    .execute()
}

export const insertPart = (db: Database, { exportId, attempt }: Attempt, part: { n: number; size: number }) =>
  db
    .insertInto('exportParts')
    .values({ exportId, attempt, ...part })
    .execute()

/** Whether the row of this part still exists. */
export const isPartKnown = async (db: Database, { exportId, attempt }: Attempt, n: number): Promise<boolean> =>
  (await db
    .selectFrom('exportParts')
    .select('n')
    .where('exportId', '=', exportId)
    .where('attempt', '=', attempt)
    .where('n', '=', n)
    .executeTakeFirst()) !== undefined

/** The parts of attempts up to this one, in any order. */
export const listParts = (db: Database, exportId: string, upTo: number) =>
  db
    .selectFrom('exportParts')
    .select(['exportId', 'attempt', 'n'])
    .where('exportId', '=', exportId)
    .where('attempt', '<=', upTo)
    .execute()

/** Served by exports_expiry. */
export const listExpired = (db: Database, now: number) =>
  db.selectFrom('exports').select('id').where('expiresAt', '<=', now).orderBy('expiresAt').limit(100).execute()

/**
 * Deletes an export with the parts of all its attempts, and records the job that deletes their bytes. A worker that is
 * still storing a part then notices that its row was deleted.
 */
export const deleteExport = (db: Database, id: string) =>
  db.transaction().execute(async (trx) => {
    const parts = await trx
      .deleteFrom('exportParts')
      .where('exportId', '=', id)
      .returning(['exportId', 'attempt', 'n'])
      .execute()
    await trx.deleteFrom('exports').where('id', '=', id).execute()
    if (parts.length > 0) await recordJob(trx, 'delete-blobs', { keys: parts.map(exportPartKey) })
  })
