import { randomUUID } from 'node:crypto'
import { invalid } from '@parley/contract'
import type { Place } from './base64.ts'

/** More than this beside the files themselves is no upload. */
const restLimit = 64 * 1024
const quote = 0x22
const backslash = 0x5c

export interface UploadJson {
  /** Parsed; long texts of the given fields are replaced by something short. */
  value: unknown
  /** Where the text of a field stands within the body, if it was a long one. */
  place(text: string): Place | undefined
}

/**
 * Parses the JSON of an upload without ever making a text of the file in it, which would take its size three times more:
 * long texts under these names are left where they are, and found again by `place`.
 * @throws ApiError 400 when the rest is not JSON, or too long; SyntaxError of JSON.parse never reaches the caller.
 */
export function parseUploadJson(body: Buffer, names: readonly string[]): UploadJson {
  const mark = randomUUID()
  const places: Place[] = []
  let rest = ''
  let copied = 0
  let name = ''
  for (let start = body.indexOf(quote); start !== -1; ) {
    const end = endOfText(body, start + 1)
    if (end === -1) break
    const isLong = end - start > 1_024
    if (isLong && names.includes(name)) {
      rest += `${body.toString('utf8', copied, start + 1)}${mark} ${places.length}`
      places.push({ start: start + 1, end })
      copied = end
    }
    name = isLong ? '' : body.toString('latin1', start + 1, end)
    start = body.indexOf(quote, end + 1)
    if (rest.length + (start === -1 ? body.length : start) - copied > restLimit) throw tooMuch()
  }
  if (body.length - copied > restLimit) throw tooMuch()
  return {
    value: parse(rest + body.toString('utf8', copied)),
    place: (text) => (text.startsWith(mark) ? places[Number(text.slice(mark.length + 1))] : undefined),
  }
}

/** The quote that ends a text: the next one that no backslash escapes. */
function endOfText(body: Buffer, from: number): number {
  for (let end = body.indexOf(quote, from); end !== -1; end = body.indexOf(quote, end + 1)) {
    let backslashes = 0
    while (end - backslashes > from && body[end - 1 - backslashes] === backslash) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return -1
}

function parse(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    throw invalid('The body is not valid JSON')
  }
}

const tooMuch = () => invalid('The fields beside the file are too long')
