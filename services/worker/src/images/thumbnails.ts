import { buffer } from 'node:stream/consumers'
import { BlobMissing, thumbnailKey } from '@parley/blobs'
import type { JobData } from '@parley/contract'
import type { Database } from '@parley/database'
import type { Deps } from '@parley/service'
import { type EncoderOptions, encodeImage, UnreadableImage } from './encoder.ts'

/** A drawing has no thumbnail: it is sharp at any size, and drawing a stranger's SVG is a needless risk. */
const drawing = 'image/svg+xml'
const contentType = 'image/webp'
/** A thumbnail fits into a square with this side. */
const boxPixels = 512

/**
 * Makes the thumbnail of an uploaded image: first the bytes are stored, then the row says that they are there. May be repeated. An image
 * that cannot be read, or is smaller than its thumbnail, stays without one and is shown itself. If the row is deleted
 * meanwhile, no bytes are left.
 */
export async function addThumbnail(
  { db, blobs, logger }: Pick<Deps, 'db' | 'blobs' | 'logger'>,
  { filename }: JobData<'make-thumbnail'>,
  options?: EncoderOptions,
): Promise<void> {
  const key = thumbnailKey(filename)
  const image = await findImage(db, filename)
  // An earlier attempt may have died between the two steps below.
  if (!image) return blobs.delete([key])
  if (image.thumbnailType !== null || image.contentType === drawing) return

  let bytes: Buffer
  try {
    const original = await buffer(await blobs.get(filename))
    bytes = await encodeImage(original, { side: boxPixels, fit: 'inside' }, options)
    if (bytes.length >= original.length) return
    await blobs.put(key, bytes, { size: bytes.length, contentType })
  } catch (error) {
    if (!(error instanceof UnreadableImage || error instanceof BlobMissing)) throw error
    logger.info({ filename, reason: error.message }, 'an image has no thumbnail')
    return
  }
  const thumbnail = { thumbnailType: contentType, thumbnailSize: bytes.length }
  if (!(await updateThumbnail(db, filename, thumbnail))) await blobs.delete([key])
}

const findImage = (db: Database, filename: string) =>
  db
    .selectFrom('uploads')
    .select(['filename', 'contentType', 'thumbnailType'])
    .where('filename', '=', filename)
    .where('kind', '=', 'image')
    .executeTakeFirst()

/** Shows the thumbnail to readers. Returns false when the image is gone. */
async function updateThumbnail(
  db: Database,
  filename: string,
  thumbnail: { thumbnailType: string; thumbnailSize: number },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('uploads')
    .set(thumbnail)
    .where('filename', '=', filename)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
