import { createHash, hash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { thumbnailKey } from '@parley/blobs'
import { tooMuch, unavailable } from '@parley/contract'
import { claimOf, findAnswer, once, recordJob, type Transaction } from '@parley/database'
import type { Deps } from '@parley/service'
import { insertUpload, lockUploader, type NewUpload, sumUnattached, updateStored } from './uploads.queries.ts'

export interface Upload extends Omit<NewUpload, 'size' | 'thumbnailSize' | 'digest' | 'createdAt'> {
  bytes: Buffer
  thumbnail: { bytes: Buffer; contentType: string } | undefined
}

/**
 * Keeps an upload and answers its name. First comes its row, then the bytes, then the word that they are there: what
 * breaks off in between is a row that nobody can see, and is collected with its bytes. An image without a thumbnail gets
 * one from the worker. With `key`, an `Idempotency-Key`, a repeated request gets the first name: of two that come at once, the second to
 * be stored is left to be collected.
 * @throws ApiError 413 when its uploader has too much that no message has; as `once` for the key.
 */
export async function storeUpload(deps: Deps, upload: Upload, key?: string): Promise<string> {
  const { db, blobs, clock } = deps
  const { bytes, thumbnail, ...facts } = upload
  const { contentType } = facts
  const size = bytes.length
  const sizes = { size, thumbnailSize: thumbnail?.bytes.length ?? 0 }
  const digest = await digestOf(bytes)
  const { uploadedBy, kind, channelId, originalName } = facts
  const drawn = thumbnail ? hash('sha256', thumbnail.bytes) : null
  const claim = claimOf(uploadedBy, key, 'upload', kind, channelId, originalName, digest.toString('hex'), drawn)
  const earlier = claim && (await findAnswer(db, claim, clock()))
  if (earlier) return JSON.parse(earlier)

  const filename = await enter(deps, { ...facts, ...sizes, digest, createdAt: clock() })

  await blobs.put(filename, bytes, { size, contentType })
  if (thumbnail) {
    const { bytes, contentType } = thumbnail
    await blobs.put(thumbnailKey(filename), bytes, { size: bytes.length, contentType })
  }

  let isCollected = false
  try {
    return await db.transaction().execute((trx) => once(trx, claim, clock(), show))
  } catch (error) {
    // It was collected while its bytes were under way: nobody else knows of them any more.
    if (isCollected) await blobs.delete([filename, thumbnailKey(filename)])
    throw error
  }

  /** From now on it can be read. */
  async function show(trx: Transaction): Promise<string> {
    const thumbnailType = thumbnail?.contentType ?? null
    isCollected = !(await updateStored(trx, filename, { thumbnailType, storedAt: clock() }))
    if (isCollected) throw unavailable()
    if (upload.kind === 'image' && !thumbnail) await recordJob(trx, 'make-thumbnail', { filename })
    return filename
  }
}

/** Its row. However many come at once, together they do not exceed what the person may have. */
function enter({ db, config }: Deps, upload: NewUpload): Promise<string> {
  const { uploadedBy, size, thumbnailSize, createdAt } = upload
  const most = config.uploads.maxUnattachedBytes
  return db.transaction().execute(async (trx) => {
    await lockUploader(trx, uploadedBy)
    const rules = { least: leastBytes, storingSince: createdAt - storingMs }
    const unattached = await sumUnattached(trx, uploadedBy, rules)
    if (unattached + Math.max(size + thumbnailSize, leastBytes) > most) throw tooMuchUnattached(most)
    return insertUpload(trx, upload)
  })
}

/** What an upload counts as at least: its row takes space too. */
const leastBytes = 4_096
/** Nobody takes longer to store bytes that are here already. */
const storingMs = 15 * 60_000

const tooMuchUnattached = (most: number) =>
  tooMuch(
    `Your uploads that are on no message would be more than ${Math.floor(most / 1024 / 1024)} MB: send them, or wait until they are removed ` +
      'after 24 hours',
  )

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
