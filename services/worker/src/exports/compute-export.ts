import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { type BlobStore, exportPartKey } from '@parley/blobs'
import type { Config } from '@parley/config'
import type { JobData } from '@parley/contract'
import type { Database } from '@parley/database'
import type { Deps } from '@parley/service'
import { exportDocument, type Progress } from './export-document.ts'
import {
  type Attempt,
  beginAttempt,
  deleteExport,
  insertPart,
  isPartKnown,
  listExpired,
  listParts,
  markFailed,
  markReady,
  updateProgress,
} from './exports.queries.ts'

interface ExportDeps extends Pick<Deps, 'db' | 'pool' | 'blobs' | 'clock'> {
  config: Pick<Config, 'exports'>
}

const progressEveryMs = 500
/** The queue counts only attempts that fail. This limit also counts attempts of workers that crashed. */
const maxAttempts = 20

/**
 * Computes an export from a snapshot of its own. A further attempt, after a worker crashed or was thought dead, begins
 * again and deletes the bytes of earlier attempts. An earlier attempt that still runs notices this at its next update
 * and ends.
 * @throws when it was superseded or `stopping`, or when the database or the store is unavailable. The job is then tried again.
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
  if (number > maxAttempts) return void (await markFailed(db, exportId, clock()))
  await deleteBytes({ db, blobs }, exportId, number - 1)

  const progress: Progress = { done: 0, total: 0 }
  let updatedAt = Number.NEGATIVE_INFINITY
  const onProgress = async (now: Progress) => {
    Object.assign(progress, now)
    stopping.throwIfAborted()
    if (performance.now() - updatedAt < progressEveryMs) return
    updatedAt = performance.now()
    if (!(await updateProgress(db, attempt, { ...progress, expiresAt: expiresAt() }))) throw superseded()
  }

  const size = await storeParts({ db, blobs }, attempt, exportDocument(pool, onProgress))
  const end = { records: progress.done, size, finishedAt: clock(), expiresAt: expiresAt() }
  if (!(await markReady(db, attempt, end))) throw superseded()
}

const superseded = () => new Error('another worker has begun a newer attempt of this export, or the export was deleted')

/** Marks the export of a job that will not be tried again. */
export const giveUpExport = (
  { db, clock }: Pick<ExportDeps, 'db' | 'clock'>,
  { exportId }: JobData<'compute-export'>,
) => markFailed(db, exportId, clock())

/** Deletes expired exports with the parts of all their attempts. Returns their number. */
export async function deleteOldExports(db: Database, now: number): Promise<number> {
  const expired = await listExpired(db, now)
  for (const { id } of expired) await deleteExport(db, id)
  return expired.length
}

/** A part is held in memory, because a store must know the size of a part before it gets the bytes. */
const partBytes = 2 * 1024 * 1024
/** Compresses text to a sixth, like the default level 6, in half the time. */
const level = 4

interface PartStore {
  db: Database
  blobs: BlobStore
}

/**
 * Compresses a document and stores it in parts. Returns its compressed size in bytes. The document is read as fast as it is stored.
 * @throws when the export was deleted, or the store is unavailable.
 */
async function storeParts(
  { db, blobs }: PartStore,
  attempt: Attempt,
  document: AsyncIterable<string>,
): Promise<number> {
  // A failure of the document ends the loop below. The end of the loop also ends the document.
  const compressed = pipeline(Readable.from(document, { highWaterMark: 2 }), createGzip({ level }), () => {})
  let [size, n] = [0, 0]
  for await (const part of cut(compressed)) {
    await insertPart(db, attempt, { n, size: part.length })
    const key = exportPartKey({ ...attempt, n })
    await blobs.put(key, part, { size: part.length, contentType: 'application/gzip' })
    // If the export was deleted meanwhile, only this process knows of these bytes.
    if (!(await isPartKnown(db, attempt, n))) {
      await blobs.delete([key])
      throw new Error('this export was deleted')
    }
    size += part.length
    n += 1
  }
  return size
}

/**
 * Deletes the bytes of the parts of all attempts up to this one. Their rows stay until the export is deleted, because a worker that
 * was thought dead may still store a part.
 */
async function deleteBytes({ db, blobs }: PartStore, exportId: string, upTo: number): Promise<void> {
  const parts = await listParts(db, exportId, upTo)
  await blobs.delete(parts.map(exportPartKey))
}

/** Joins the bytes to parts of at least `partBytes`. The last one may be smaller. */
async function* cut(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [held, heldBytes]: [Buffer[], number] = [[], 0]
  for await (const chunk of bytes) {
    held.push(chunk)
    heldBytes += chunk.length
    if (heldBytes < partBytes) continue
    yield Buffer.concat(held)
    ;[held, heldBytes] = [[], 0]
  }
  if (heldBytes > 0) yield Buffer.concat(held)
}
