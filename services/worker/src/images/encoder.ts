import { type ExecFileException, execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

interface Square {
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
const pixelLimit = 50_000_000
/** `EX_DATAERR`. */
const unreadable = 65
/** The process is killed when its output is larger. An image of 512 by 512 pixels is far smaller. */
const byteLimit = 1024 * 1024

/**
 * Encodes an image as WebP: upright, in sRGB, without metadata. Of an animation only the first picture is encoded. The
 * image is decoded in a process of its own, which gets no other data.
 * @throws UnreadableImage when a further attempt would not help either; other errors when the process failed.
 */
export async function encodeImage(image: Buffer, square: Square, options: EncoderOptions = {}): Promise<Buffer> {
  const { timeoutMs = 15_000, program = join(import.meta.dirname, 'encoder-process.ts') } = options
  const order: EncoderOrder = { ...square, pixelLimit, unreadable }
  const encoding = promisify(execFile)(process.execPath, [program, JSON.stringify(order)], {
    env: { MALLOC_ARENA_MAX: '2' },
    encoding: 'buffer',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: byteLimit,
  })
  // The process may end before it has read everything. Its exit code is more informative than this error.
  encoding.child.stdin!.on('error', () => {}).end(image)
  const { stdout } = await encoding.catch((error: ExecFileException & { stderr: Buffer }) => {
    throw explain(error)
  })
  return stdout
}

function explain({ code, signal, stderr }: ExecFileException & { stderr: Buffer }): Error {
  if (code === unreadable) return new UnreadableImage(stderr.toString().slice(0, 500))
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return new UnreadableImage('the encoded image would be too large')
  return new Error(`the process that encodes images ended by ${signal ?? `code ${code}`}`)
}

export type EncodeImage = (image: Buffer, square: Square) => Promise<Buffer>

/** The image is damaged, too large to be decoded, or has a format that is not encoded. */
export class UnreadableImage extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnreadableImage'
  }
}
