import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress, createGunzip, createInflate, constants as zlib } from 'node:zlib'

export interface Body {
  bytes: Buffer
  /** Whether there was more than was read. */
  isCut: boolean
}

/**
 * Reads at most so many bytes, both as they came and decoded: neither an endless reply nor one that decodes to far more takes more memory.
 * What is cut off is not waited for. A coding that is not known stays as it is.
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
      // The decoder complains when what it decodes is not read to its end.
      if (!isCut) throw error
    })
  } else await collect(upToLimit())
  return { bytes: Buffer.concat(chunks), isCut }
}

/** What was cut off in the middle is decoded as far as it goes. */
const asFarAsItGoes = { finishFlush: zlib.Z_SYNC_FLUSH }

function decoderOf(coding: string | undefined) {
  switch (coding?.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(asFarAsItGoes)
    case 'deflate':
      return createInflate(asFarAsItGoes)
    case 'br':
      return createBrotliDecompress({ finishFlush: zlib.BROTLI_OPERATION_FLUSH })
    default:
      return undefined
  }
}
