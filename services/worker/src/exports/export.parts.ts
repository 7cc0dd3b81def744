import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { BlobStore } from '@parley/blobs'
import { exportPartKey } from '@parley/contract'
import type { Database } from '@parley/database'
import { type Attempt, insertPart, isPartKnown, listParts } from './exports.queries.ts'

/** Small enough to be held in memory, so that a store is told the size before the bytes. */
const partBytes = 2 * 1024 * 1024
/** Text shrinks to a sixth at this level as well as at the usual 6, in half the time. */
const level = 4

export interface PartStore {
  db: Database
  blobs: BlobStore
}

/**
 * Compresses a document and stores it in parts; answers its compressed size in bytes. The document is taken as fast as it is stored.
 * @throws when the export is gone, or the store is away.
 */
export async function storeParts(
  { db, blobs }: PartStore,
  attempt: Attempt,
  document: AsyncIterable<string>,
): Promise<number> {
  // A failure of the document ends the loop below, and an end of the loop ends the document.
  const compressed = pipeline(Readable.from(document, { highWaterMark: 2 }), createGzip({ level }), () => {})
  let [size, n] = [0, 0]
  for await (const part of cut(compressed)) {
    await insertPart(db, attempt, { n, size: part.length })
    const key = exportPartKey({ ...attempt, n })
    await blobs.put(key, part, { size: part.length, contentType: 'application/gzip' })
    // While these bytes were under way the export may have expired: then nobody else knows of them any more.
    if (!(await isPartKnown(db, attempt, n))) {
      await blobs.delete([key])
      throw new Error('this export is gone')
    }
    size += part.length
    n += 1
  }
  return size
}

/**
 * Removes the bytes that tries up to this one have stored. The record of them stays as long as the export: a worker that was
 * thought dead may store one more.
 */
export async function removeParts({ db, blobs }: PartStore, exportId: string, upTo: number): Promise<void> {
  const parts = await listParts(db, exportId, upTo)
  await blobs.delete(parts.map(exportPartKey))
}

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
