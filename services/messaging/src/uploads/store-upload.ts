import { createHash, hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type BlobStore, thumbnailKey } from '@parley/blobs'
import { invalid, unavailable } from '@parley/contract'
import { claimOf, findStoredResponse, once, recordJob, type Transaction } from '@parley/database'
import type { ImageSize } from '@parley/images'
import type { Deps } from '@parley/service'
import { insertUpload, lockUploader, type NewUpload, sumUnattached, updateStored } from './uploads.queries.ts'

export interface Upload
  extends Omit<NewUpload, 'size' | 'thumbnailSize' | 'width' | 'height' | 'digest' | 'createdAt'> {
  bytes: Buffer
  /** The size of an image, if known. */
  pixels?: ImageSize | undefined
  thumbnail: { bytes: Buffer; contentType: string } | undefined
}

/**
 * Stores an upload and returns its name. First its row is inserted, then the bytes are stored, then the row is marked
 * as stored. If the process dies in between, nobody can see the row, and the clean-up removes it with its bytes. The
 * worker makes the thumbnail of an image that has none. With an `Idempotency-Key`, a repeated request gets the name of
 * the first one. When both requests run at the same time, the clean-up removes the upload that was stored second.
 * @throws ApiError 400 when the uploader has too many bytes in unattached uploads, or the given name is taken; as `once`
 * for the key.
 */
export async function storeUpload(deps: Deps, upload: Upload, key?: string): Promise<string> {
  const { db, blobs, clock } = deps
  const digest = await digestOf(upload.bytes)
  const claim = claimOfUpload(upload, digest, key)
  const earlier = claim && (await findStoredResponse(db, claim, clock()))
  if (earlier) return JSON.parse(earlier)

  const filename = await insertWithinQuota(deps, { ...rowOf(upload), digest, createdAt: clock() })
  await putBytes(blobs, filename, upload)

  let isCollected = false
  try {
    return await once(db, { claim, now: clock() }, markStored)
  } catch (error) {
    // The clean-up removed the row while the bytes were being stored, so only this process knows about the bytes.
    if (isCollected) await blobs.delete([filename, thumbnailKey(filename)])
    throw error
  }

  async function markStored(trx: Transaction): Promise<string> {
    const thumbnailType = upload.thumbnail?.contentType ?? null
    isCollected = !(await updateStored(trx, filename, { thumbnailType, storedAt: clock() }))
    if (isCollected) throw unavailable()
    if (upload.kind === 'image' && !upload.thumbnail) await recordJob(trx, 'make-thumbnail', { filename })
    return filename
  }
}

function claimOfUpload(upload: Upload, digest: Buffer, key: string | undefined) {
  const { uploadedBy, kind, channelId, originalName, thumbnail } = upload
  const digests = [digest.toString('hex'), thumbnail ? hash('sha256', thumbnail.bytes) : null]
  return claimOf(uploadedBy, key, 'upload', kind, channelId, originalName, ...digests)
}

function rowOf({ bytes, pixels, thumbnail, ...facts }: Upload) {
  const { width = null, height = null } = pixels ?? {}
  return { ...facts, size: bytes.length, thumbnailSize: thumbnail?.bytes.length ?? 0, width, height }
}

async function putBytes(blobs: BlobStore, filename: string, { bytes, contentType, thumbnail }: Upload): Promise<void> {
  await blobs.put(filename, bytes, { size: bytes.length, contentType })
  if (!thumbnail) return
  const ofThumbnail = { size: thumbnail.bytes.length, contentType: thumbnail.contentType }
  await blobs.put(thumbnailKey(filename), thumbnail.bytes, ofThumbnail)
}

/**
 * Inserts the row of an upload. Concurrent uploads of one person wait for each other here, so that together they stay
 * within the quota.
 */
function insertWithinQuota({ db, config }: Deps, upload: NewUpload): Promise<string> {
  const { uploadedBy, size, thumbnailSize, createdAt } = upload
  const most = config.uploads.maxUnattachedBytes
  return db.transaction().execute(async (trx) => {
    await lockUploader(trx, uploadedBy)
    const rules = { least: leastBytes, storingSince: createdAt - storingMs }
    const unattached = await sumUnattached(trx, uploadedBy, rules)
    if (unattached + Math.max(size + thumbnailSize, leastBytes) > most) throw tooMuchUnattached(most)
    const filename = await insertUpload(trx, upload)
    if (filename === undefined) throw alreadySent()
    return filename
  })
}

/** The minimum size that counts for an upload, because its row takes space too. */
const leastBytes = 4_096
/** An upload that is not stored after this time has failed. */
const storingMs = 15 * 60_000

const tooMuchUnattached = (most: number) =>
  invalid(
    `Your unattached uploads would exceed ${Math.floor(most / 1024 / 1024)} MB. Put them on messages, or wait: the server removes them ` +
      'after 24 hours',
    'quota_exceeded',
  )

const alreadySent = () =>
  invalid('This file was sent already, or sending it was interrupted. Please start again', 'duplicate')

/** SHA-256, computed in steps, so that this process can handle other requests in between. */
async function digestOf(bytes: Buffer): Promise<Buffer> {
  const hash = createHash('sha256')
  for (let from = 0; from < bytes.length; from += stepBytes) {
    hash.update(bytes.subarray(from, from + stepBytes))
    await nextTurn()
  }
  return hash.digest()
}

const stepBytes = 1024 * 1024
