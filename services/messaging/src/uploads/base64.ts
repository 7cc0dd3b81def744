import { invalid } from '@parley/contract'

/** A multiple of 4, so that each piece stands for itself. */
const pieceLength = 65_536

/** Where a base64 text stands within a body. */
export interface Place {
  start: number
  end: number
}

/**
 * Decodes base64 (RFC 4648, section 4: with padding, without line breaks) that stands within `body` into the same memory,
 * where it is shorter: an upload takes no more than its body. What was in that place of the body is gone afterwards.
 * @throws ApiError 400 when it is anything else.
 */
export function decodeInPlace(body: Buffer, field: string, place: Place): Buffer {
  const { start } = place
  if (body.toString('latin1', start, start + 5) === 'data:') {
    throw invalid(`${field} is a data: URL. Please send only what follows its comma`)
  }
  const end = withoutEscapes(body, place)
  if ((end - start) % 4 !== 0) throw notBase64(field)

  let written = start
  for (let from = start; from < end; from += pieceLength) {
    const piece = body.toString('latin1', from, Math.min(from + pieceLength, end))
    const padding = from + pieceLength < end ? 0 : paddingOf(piece)
    const expected = (piece.length / 4) * 3 - padding
    // Node leaves out what it does not know, and knows another alphabet too.
    const isOther = piece.includes('-') || piece.includes('_')
    if (isOther || body.write(piece, written, 'base64') !== expected) throw notBase64(field)
    written += expected
  }
  return body.subarray(start, written)
}

const notBase64 = (field: string) =>
  invalid(`${field} is not base64: letters, digits, + and /, padded with = at the end, without line breaks`)

const paddingOf = (piece: string) => (piece.endsWith('==') ? 2 : piece.endsWith('=') ? 1 : 0)

/** Some programs write `/` and `+` as JSON escapes. Answers where the text ends without them. */
function withoutEscapes(body: Buffer, { start, end }: Place): number {
  let to = body.indexOf(backslash, start)
  if (to === -1 || to >= end) return end
  for (let from = to; from < end; ) {
    if (body[from] !== backslash) {
      body[to++] = body[from++]!
      continue
    }
    const isCode = body[from + 1] === letterU
    body[to++] = isCode ? asciiOf(body.toString('latin1', from + 2, from + 6)) : body[from + 1]!
    from += isCode ? 6 : 2
  }
  return to
}

/** 0, which is not base64 either, for what is none. */
function asciiOf(digits: string): number {
  const code = Number.parseInt(digits, 16)
  return code < 128 ? code : 0
}

const backslash = 0x5c
const letterU = 0x75
