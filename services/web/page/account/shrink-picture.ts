import { squarePicture } from '../ui/square-picture.ts'

/** The largest picture that the server takes, in bytes. */
const maxBytes = 1024 * 1024
/** Twice the side of the largest avatar, for screens with many pixels. */
const sidePx = 512

/**
 * Makes a square from the middle of a large picture, as the server does, because a photo of a phone is larger than the server takes. A small
 * file, and one that the browser cannot read as a picture, is returned as it is.
 */
export async function shrinkPicture(file: File): Promise<Blob> {
  if (file.size <= maxBytes) return file
  const picture = await createImageBitmap(file).catch(() => undefined)
  return picture ? squarePicture(picture, sidePx) : file
}
