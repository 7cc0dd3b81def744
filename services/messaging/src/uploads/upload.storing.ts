import { createHash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { unavailable } from '@parley/contract'
import { recordJob, thumbnailKey } from '@parley/database'
import type { Deps } from '@parley/service'
import { insertUpload, type NewUpload, updateStored } from './uploads.queries.ts'

export interface Upload extends Omit<NewUpload, 'size' | 'digest' | 'createdAt'> {
  bytes: Buffer
  thumbnail: { bytes: Buffer; contentType: string } | undefined
}

/**
 * Keeps an upload and answers its name. First comes its row, then the bytes, then the word that they are there: what
 * breaks off in between is a row that nobody can see, and is collected with its bytes. An image without a thumbnail gets
 * one from the worker.
 */
export async function storeUpload({ db, blobs, clock }: Deps, upload: Upload): Promise<string> {
  const { bytes, thumbnail, ...facts } = upload
  const { contentType } = facts
  const size = bytes.length
  const filename = await insertUpload(db, { ...facts, size, digest: await digestOf(bytes), createdAt: clock() })

  await blobs.put(filename, bytes, { size, contentType })
  if (thumbnail) {
    const { bytes, contentType } = thumbnail
    await blobs.put(thumbnailKey(filename), bytes, { size: bytes.length, contentType })
  }
  const isKept = await db.transaction().execute(async (trx) => {
    const thumbnailType = thumbnail?.contentType ?? null
    if (!(await updateStored(trx, filename, { thumbnailType, storedAt: clock() }))) return false
    if (upload.kind === 'image' && !thumbnail) await recordJob(trx, 'make-thumbnail', { filename })
    return true
  })
  if (isKept) return filename
  // It was collected while its bytes were under way: nobody else knows of them any more.
  await blobs.delete([filename, thumbnailKey(filename)])
  throw unavailable()
}

/** SHA-256, in steps: meanwhile others are served. */
async function digestOf(bytes: Buffer): Promise<Buffer> {
  const hash = createHash('sha256')
  for (let from = 0; from < bytes.length; from += stepBytes) {
    hash.update(bytes.subarray(from, from + stepBytes))
    await turn()
  }
  return hash.digest()
}

const stepBytes = 1024 * 1024
