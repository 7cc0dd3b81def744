import { buffer } from 'node:stream/consumers'
import { BlobMissing, thumbnailKey } from '@parley/blobs'
import type { JobData } from '@parley/contract'
import type { Database } from '@parley/database'
import type { Deps } from '@parley/service'
import { type EncoderOptions, encodeImage, UnreadableImage } from './encoder.ts'

/** An SVG has no thumbnail: it is sharp at any size, and rendering a stranger's SVG would be a needless risk. */
const drawing = 'image/svg+xml'
const contentType = 'image/webp'
/** A thumbnail fits into a square with this side. */
const boxPixels = 512

/**
 * Creates the thumbnail of an uploaded image: first its bytes are stored, then the row is updated. It may be repeated.
 * An image that cannot be read, or is smaller than its thumbnail, gets none, and clients show the image itself. If the
 * row is deleted meanwhile, the bytes are deleted too.
 */
export async function addThumbnail(
  { db, blobs, logger }: Pick<Deps, 'db' | 'blobs' | 'logger'>,
  { filename }: JobData<'make-thumbnail'>,
  options?: EncoderOptions,
): Promise<void> {
  const key = thumbnailKey(filename)
  const image = await findImage(db, filename)
  // An earlier attempt may have crashed between the two steps below.
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

/** Makes the thumbnail visible. Returns false when the image was deleted. */
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
