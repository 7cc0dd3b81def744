import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { BlobMissing, type BlobStore, thumbnailKey } from '@parley/blobs'
import { notFound } from '@parley/contract'
import type { UploadRow } from '@parley/database'
import type { Bytes } from './answer-bytes.ts'
import type { ByteRange } from './range.ts'

/** An upload as it was sent. Files are for saving, images for looking at. */
export const wholeOf = (blobs: BlobStore, { kind, filename, digest, ...upload }: UploadRow): Bytes => ({
  ...upload,
  etag: digest.toString('hex'),
  disposition: kind === 'image' ? 'inline' : 'attachment',
  open: (range) => openBlob(blobs, filename, range),
})

/** The thumbnail of an image, or while there is none the image, which the next answer may differ from. */
export async function thumbnailOf(blobs: BlobStore, upload: UploadRow): Promise<Bytes> {
  const image = wholeOf(blobs, upload)
  const { thumbnailType } = upload
  if (thumbnailType === null) return image

  // How long it is nobody has written down; it is small.
  const bytes = await buffer(await openBlob(blobs, thumbnailKey(upload.filename)))
  return {
    ...image,
    size: bytes.length,
    contentType: thumbnailType,
    etag: `${image.etag}-thumbnail`,
    open: async (range) => Readable.from([range ? bytes.subarray(range.start, range.end + 1) : bytes]),
  }
}

/** It may be collected just now. */
async function openBlob(blobs: BlobStore, key: string, range?: ByteRange): Promise<Readable> {
  try {
    return await blobs.get(key, range)
  } catch (error) {
    throw error instanceof BlobMissing ? notFound('file') : error
  }
}
