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
  if (!picture) return file
  const { width, height } = picture
  const side = Math.min(width, height)
  const canvas = new OffscreenCanvas(sidePx, sidePx)
  canvas.getContext('2d')!.drawImage(picture, (width - side) / 2, (height - side) / 2, side, side, 0, 0, sidePx, sidePx)
  picture.close()
  // Safari cannot write WebP, and writes PNG instead.
  return canvas.convertToBlob({ type: 'image/webp', quality: 0.9 })
}
