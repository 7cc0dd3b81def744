/** Makes a square from the middle of a picture, as the server does, and ends the use of the picture. */
export function squarePicture(picture: ImageBitmap, sidePx: number): Promise<Blob> {
  const { width, height } = picture
  const side = Math.min(width, height)
  const canvas = new OffscreenCanvas(sidePx, sidePx)
  const context = canvas.getContext('2d')!
  context.imageSmoothingQuality = 'high'
  context.drawImage(picture, (width - side) / 2, (height - side) / 2, side, side, 0, 0, sidePx, sidePx)
  picture.close()
  // Safari cannot write WebP, and writes PNG instead.
  return canvas.convertToBlob({ type: 'image/webp', quality: 0.9 })
}
