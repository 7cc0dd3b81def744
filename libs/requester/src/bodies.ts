import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress, createGunzip, createInflate, constants as zlib } from 'node:zlib'

export interface Body {
  bytes: Buffer
  /** Whether the body was longer than `bytes`. */
  isCut: boolean
}

/**
 * Reads at most `maxBytes`, counted both before and after decoding. So neither an endless response nor a compressed one
 * that decodes to far more takes more memory. The rest of the body is not awaited. A body with an unknown coding is not
 * decoded.
 */
export async function readBody(
  body: AsyncIterable<Buffer>,
  coding: string | undefined,
  maxBytes: number,
): Promise<Body> {
  const chunks: Buffer[] = []
  let left = maxBytes
  let isCut = false

  async function* upToLimit() {
    let raw = 0
    for await (const chunk of body) {
      raw += chunk.length
      isCut ||= raw > maxBytes
      yield chunk
      if (isCut) return
    }
  }

  async function collect(decoded: AsyncIterable<Buffer>) {
    for await (const chunk of decoded) {
      isCut ||= chunk.length > left
      const part = chunk.subarray(0, left)
      chunks.push(part)
      left -= part.length
      if (isCut) return
    }
  }

  const decoder = decoderOf(coding)
  if (decoder) {
    await pipeline(upToLimit, decoder, collect).catch((error) => {
      // The decoder throws when its input ends early.
      if (!isCut) throw error
    })
  } else await collect(upToLimit())
  return { bytes: Buffer.concat(chunks), isCut }
}

/** Options with which an incomplete body is decoded as far as possible. */
const ofIncompleteBody = { finishFlush: zlib.Z_SYNC_FLUSH }

function decoderOf(coding: string | undefined) {
  switch (coding?.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(ofIncompleteBody)
    case 'deflate':
      return createInflate(ofIncompleteBody)
    case 'br':
      return createBrotliDecompress({ finishFlush: zlib.BROTLI_OPERATION_FLUSH })
    default:
      return undefined
  }
}
