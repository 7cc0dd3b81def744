import type { Config } from '@parley/config'
import type { JobData } from '@parley/contract'
import type { Database } from '@parley/database'
import type { Deps } from '@parley/service'
import { exportDocument, type Progress } from './export.document.ts'
import { removeParts, storeParts } from './export.parts.ts'
import {
  type Attempt,
  beginAttempt,
  deleteExport,
  listExpired,
  markFailed,
  markReady,
  updateProgress,
} from './exports.queries.ts'

export interface ExportDeps extends Pick<Deps, 'db' | 'pool' | 'blobs' | 'clock'> {
  config: Pick<Config, 'exports'>
}

const progressEveryMs = 500
/** The queue counts tries that fail; this counts the workers that died over it, too. */
const mostAttempts = 20

/**
 * Computes an export from a snapshot of its own. Done again, after a worker died or was thought dead, it begins anew and
 * removes what the earlier try left; an earlier try that is still alive finds out with its next look and ends.
 * @throws when it was superseded or `stopping`, or database or store are away: the job is tried again.
 */
export async function computeExport(
  { config, db, pool, blobs, clock }: ExportDeps,
  { exportId }: JobData<'compute-export'>,
  stopping: AbortSignal,
): Promise<void> {
  const expiresAt = () => clock() + config.exports.keepHours * 3_600_000
  const number = await beginAttempt(db, exportId, expiresAt())
  if (number === undefined) return
  const attempt: Attempt = { exportId, attempt: number }
  if (number > mostAttempts) return void (await markFailed(db, exportId, clock()))
  await removeParts({ db, blobs }, exportId, number - 1)

  const progress: Progress = { done: 0, total: 0 }
  let toldAt = Number.NEGATIVE_INFINITY
  const onProgress = async (now: Progress) => {
    Object.assign(progress, now)
    stopping.throwIfAborted()
    if (performance.now() - toldAt < progressEveryMs) return
    toldAt = performance.now()
    if (!(await updateProgress(db, attempt, { ...progress, expiresAt: expiresAt() }))) throw superseded()
  }

  const size = await storeParts({ db, blobs }, attempt, exportDocument(pool, onProgress))
  const end = { records: progress.done, size, finishedAt: clock(), expiresAt: expiresAt() }
  if (!(await markReady(db, attempt, end))) throw superseded()
}

const superseded = () => new Error('another worker has begun this export anew, or it is gone')

/** What became of a job that was given up. */
export const giveUpExport = (
  { db, clock }: Pick<ExportDeps, 'db' | 'clock'>,
  { exportId }: JobData<'compute-export'>,
) => markFailed(db, exportId, clock())

/** Deletes exports that were kept long enough, with whatever any try of theirs has left; answers how many. */
export async function deleteOldExports(db: Database, now: number): Promise<number> {
  const expired = await listExpired(db, now)
  for (const { id } of expired) await deleteExport(db, id)
  return expired.length
}
