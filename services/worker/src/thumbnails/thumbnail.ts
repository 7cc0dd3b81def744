import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { cannotBeRead } from './thumbnail.limits.ts'

export interface ThumbnailOptions {
  /** After this the program is killed. 15 s unless given. */
  patienceMs?: number
  /** What decodes the image; ours unless given. */
  program?: string
}

/** Of a thumbnail: that of an image of 512 by 512 pixels is far smaller. */
const byteLimit = 1024 * 1024

/**
 * Makes a thumbnail: WebP, at most 512 by 512 pixels, upright, sRGB, without what cameras write into their pictures; the first
 * picture of a moving one. It is decoded in a process of its own, which is told nothing but the image.
 * @throws UnreadableImage when that is no use however often; other errors when the process broke down.
 */
export async function makeThumbnail(image: Buffer, options: ThumbnailOptions = {}): Promise<Buffer> {
  const { patienceMs = 15_000, program = join(import.meta.dirname, 'thumbnail.process.ts') } = options
  const child = spawn(process.execPath, [program], { env: { MALLOC_ARENA_MAX: '2' }, stdio: 'pipe' })
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
  try {
    // It may be gone before it has read everything; how it ended tells more.
    child.stdin.on('error', () => {}).end(image)
    const [thumbnail, complaint, [code, signal]] = await Promise.all([
      buffer(child.stdout),
      buffer(child.stderr),
      ended,
    ])
    if (code === cannotBeRead) throw new UnreadableImage(complaint.toString().slice(0, 500))
    if (code !== 0) throw new Error(`the program that makes thumbnails ended by ${signal ?? `code ${code}`}`)
    if (thumbnail.length > byteLimit) throw new UnreadableImage('its thumbnail would be too large')
    return thumbnail
  } finally {
    clearTimeout(timer)
    child.kill('SIGKILL')
  }
}

/** It is damaged, too large to be unpacked, or no image of a format that thumbnails are made of. */
export class UnreadableImage extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnreadableImage'
  }
}
