import { createLimiter } from '@parley/limiter'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { squarePicture } from '../ui/square-picture.ts'
import { mostPixels } from './images.ts'

/** Three times the side of a thumbnail, for screens with many pixels. */
const sidePx = 120

/** The server takes no larger file, and the browser would read all of it. */
const mostBytes = 25 * 1024 * 1024

/** One at a time, because a photo of a phone takes hundreds of megabytes of memory until it is shrunk. */
const inTurn = createLimiter(1)

/** A small picture of a chosen image, or nothing when the browser cannot show it. Its name is beside it. */
export function ChosenThumbnail({ file }: { file: File }) {
  const url = useSignal<string | undefined>(undefined)
  useEffect(() => {
    const controller = new AbortController()
    void inTurn(async () => {
      const bytes = controller.signal.aborted ? undefined : await thumbnailOf(file)
      if (bytes && !controller.signal.aborted) url.value = URL.createObjectURL(bytes)
    })
    return () => {
      controller.abort()
      if (url.value !== undefined) URL.revokeObjectURL(url.value)
    }
  }, [file])
  return url.value === undefined ? null : <img src={url.value} alt="" />
}

/** Returns a small square version of the file, or undefined if the browser cannot show it, or if that may take gigabytes of memory. */
async function thumbnailOf(file: File): Promise<Blob | undefined> {
  if (file.size > mostBytes || (await pixelsOf(file)) > mostPixels) return undefined
  const picture = await createImageBitmap(file).catch(() => undefined)
  return picture && squarePicture(picture, sidePx)
}

/** Reads the size from the beginning of an image, without decoding the rest. An image that the browser cannot read has the size 0. */
async function pixelsOf(file: File): Promise<number> {
  const image = new Image()
  const loaded = new Promise((resolve) => {
    image.onload = resolve
    image.onerror = resolve
  })
  image.src = URL.createObjectURL(file)
  await loaded
  URL.revokeObjectURL(image.src)
  return image.naturalWidth * image.naturalHeight
}
