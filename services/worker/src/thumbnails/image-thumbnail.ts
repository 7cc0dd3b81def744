import { buffer } from 'node:stream/consumers'
import { BlobMissing, thumbnailKey } from '@parley/blobs'
import type { JobData } from '@parley/contract'
import type { Deps } from '@parley/service'
import { makeThumbnail, type ThumbnailOptions, UnreadableImage } from './thumbnail.ts'
import { findImage, updateThumbnail } from './thumbnails.queries.ts'

/** A drawing needs none: it is sharp at any size, and drawing what a stranger wrote is a risk for nothing. */
const drawing = 'image/svg+xml'
const contentType = 'image/webp'

/**
 * Gives an uploaded image its thumbnail: first the bytes, then the word in its row that they are there. May be repeated. An image
 * that cannot be read, or is smaller than its thumbnail would be, stays without one and is shown itself. Whatever happens to the row meanwhile, no bytes are left without it.
 */
export async function addThumbnail(
  { db, blobs, logger }: Pick<Deps, 'db' | 'blobs' | 'logger'>,
  { filename }: JobData<'make-thumbnail'>,
  options?: ThumbnailOptions,
): Promise<void> {
  const key = thumbnailKey(filename)
  const image = await findImage(db, filename)
  // An attempt before this one may have died between the two steps below.
  if (!image) return blobs.delete([key])
  if (image.thumbnailType !== null || image.contentType === drawing) return

  let bytes: Buffer
  try {
    const original = await buffer(await blobs.get(filename))
    bytes = await makeThumbnail(original, options)
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
