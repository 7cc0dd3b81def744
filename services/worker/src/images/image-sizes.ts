import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { BlobMissing, type BlobStore } from '@parley/blobs'
import { anyOf, type Database, type Transaction, type UploadRow } from '@parley/database'
import { type ImageSize, readImageSize } from '@parley/images'
import type { Logger } from '@parley/telemetry'
import { sql } from 'kysely'
import { type Repeated, repeat } from '../repeat.ts'

interface ImageSizesOptions {
  db: Database
  blobs: BlobStore
  logger: Logger
}

/** How often it searches for images without a size. Only the previous version stores such images, during an upgrade. */
const everyMs = 60_000
/** With this factor it works for at most a quarter of the time, because nobody waits for old images. */
const restFactor = 3

/**
 * Slowly reads the sizes of images that were stored without one, and stores each in the upload and its messages, until
 * it is stopped. There is no event for it: a client learns the size when it fetches the message again. Several workers
 * may do it.
 */
export function startImageSizes({ db, blobs, logger }: ImageSizesOptions): Repeated {
  let after = ''
  return repeat(
    async (stopping) => {
      while (!stopping.aborted) {
        const begun = performance.now()
        const image = await findWithoutSize(db, after)
        // After an image that cannot be read at the moment it continues with the next one.
        after = image?.filename ?? ''
        if (!image) return
        await addSize(db, blobs, image)
        const rest = (performance.now() - begun) * restFactor
        await delay(rest, undefined, { signal: stopping }).catch(() => {})
      }
    },
    { pauseMs: everyMs, logger, failure: 'the size of an image could not be read, will try again' },
  )
}

async function addSize(db: Database, blobs: BlobStore, { filename, contentType }: Image): Promise<void> {
  try {
    const size = readImageSize(await buffer(await blobs.get(filename)), contentType)
    if (size) await storeSize(db, filename, size)
    else await markUnreadable(db, filename)
  } catch (error) {
    if (!(error instanceof BlobMissing)) throw error
    await markUnreadable(db, filename)
  }
}

type Image = Pick<UploadRow, 'filename' | 'contentType'>

/** Served by uploads_without_size. */
const findWithoutSize = (db: Database, after: string) =>
  db
    .selectFrom('uploads')
    .select(['filename', 'contentType'])
    .where('kind', '=', 'image')
    .where('width', 'is', null)
    .where('storedAt', 'is not', null)
    .where('sizeUnreadable', '=', false)
    .where('filename', '>', after)
    .orderBy('filename')
    .limit(1)
    .executeTakeFirst()

const markUnreadable = (db: Database, filename: string) =>
  db.updateTable('uploads').set({ sizeUnreadable: true }).where('filename', '=', filename).execute()

/**
 * Locks the messages before the upload, as an edit does. If another message got the image meanwhile, nothing is stored
 * until the next attempt.
 */
const storeSize = (db: Database, filename: string, { width, height }: ImageSize) =>
  db.transaction().execute(async (trx) => {
    const messageIds = await lockHolders(trx, filename)
    await trx.selectFrom('uploads').select('filename').where('filename', '=', filename).forUpdate().execute()
    const holders = await findHolders(trx, filename)
    if (holders.some((id) => !messageIds.includes(id))) return
    await trx
      .updateTable('messages')
      .set({
        imageSizes: sql`coalesce(image_sizes, '{}') || jsonb_build_object(${filename}::text, jsonb_build_array(${width}::integer, ${height}::integer))`,
      })
      .where('id', '=', anyOf(holders))
      .execute()
    await trx.updateTable('uploads').set({ width, height }).where('filename', '=', filename).execute()
  })

async function lockHolders(trx: Transaction, filename: string): Promise<string[]> {
  const rows = await trx
    .selectFrom('messages')
    .select('id')
    .where('id', '=', anyOf(await findHolders(trx, filename)))
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  return rows.map(({ id }) => id)
}

/** Served by message_uploads_of_file. */
async function findHolders(trx: Transaction, filename: string): Promise<string[]> {
  const rows = await trx.selectFrom('messageUploads').select('messageId').where('filename', '=', filename).execute()
  return rows.map(({ messageId }) => messageId)
}
