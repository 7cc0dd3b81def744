import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'

export interface Square {
  /** In pixels. */
  side: number
  /**
   * `inside`: the image keeps its proportions, and a smaller image keeps its size. `cover`: the middle of the image
   * fills the square.
   */
  fit: 'inside' | 'cover'
}

export interface EncoderOptions {
  /** The process is killed after this time. 15 s unless given. */
  timeoutMs?: number
  /** The program that decodes the image; ours unless given. */
  program?: string
}

/** The parameters that the process gets as its only argument, in JSON. */
export interface EncoderOrder extends Square {
  pixelLimit: number
  /** The exit code for an image that a further attempt cannot read either. */
  unreadable: number
}

/**
 * Images with more pixels are not encoded, because some formats are decoded as a whole, with up to eight bytes per
 * pixel. Photos of phones have 12 to 50 million pixels, and a file of some kilobytes can claim to have a thousand
 * million.
 */
export const pixelLimit = 50_000_000
/** `EX_DATAERR`. */
const unreadable = 65
/** The largest encoded image. One of 512 by 512 pixels is far smaller. */
const byteLimit = 1024 * 1024

/**
 * Encodes an image as WebP: upright, in sRGB, without metadata. Of an animation only the first picture is encoded. The
 * image is decoded in a process of its own, which gets no other data.
 * @throws UnreadableImage when a further attempt would not help either; other errors when the process failed.
 */
export async function encodeImage(image: Buffer, square: Square, options: EncoderOptions = {}): Promise<Buffer> {
  const { timeoutMs = 15_000, program = join(import.meta.dirname, 'encoder-process.ts') } = options
  const order: EncoderOrder = { ...square, pixelLimit, unreadable }
  const env = { MALLOC_ARENA_MAX: '2' }
  const child = spawn(process.execPath, [program, JSON.stringify(order)], { env, stdio: 'pipe' })
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  try {
    // The process may end before it has read everything. Its exit code is more informative than this error.
    child.stdin.on('error', () => {}).end(image)
    const [encoded, complaint, [code, signal]] = await Promise.all([buffer(child.stdout), buffer(child.stderr), ended])
    if (code === unreadable) throw new UnreadableImage(complaint.toString().slice(0, 500))
    if (code !== 0) throw new Error(`the process that encodes images ended by ${signal ?? `code ${code}`}`)
    if (encoded.length > byteLimit) throw new UnreadableImage('the encoded image would be too large')
    return encoded
  } finally {
    clearTimeout(timer)
    child.kill('SIGKILL')
  }
}

export type EncodeImage = (image: Buffer, square: Square) => Promise<Buffer>

/** Encodes one image after the other, because each may need some hundred megabytes while it is decoded. */
export function oneAtATime(encode: EncodeImage): EncodeImage {
  let last: Promise<unknown> = Promise.resolve()
  return (image, square) => {
    const encoded = last.then(() => encode(image, square))
    last = encoded.catch(() => {})
    return encoded
  }
}

/** The image is damaged, too large to be decoded, or has a format that is not encoded. */
export class UnreadableImage extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnreadableImage'
  }
}
