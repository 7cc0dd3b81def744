import type { Readable } from 'node:stream'
import type { ByteRange } from '@parley/blobs'
import { ApiError } from '@parley/contract'
import { create as contentDisposition } from 'content-disposition'
import type { FastifyReply, FastifyRequest } from 'fastify'

export interface Bytes {
  size: number
  contentType: string
  /** Without its quotes. Other bytes have another one. */
  etag: string
  /** The name under which a browser saves the file. */
  originalName: string
  disposition: 'attachment' | 'inline'
  /** The bytes themselves, or a range of them. */
  open(range: ByteRange | undefined): Promise<Readable>
}

/** Browsers ask again each time, because rights change and people share browsers. With the ETag that costs no bytes. */
const cacheControl = 'private, no-cache'

/** An uploaded file never runs as a page of this server: browsers show it without scripts, forms, frames and an origin. */
const policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"

/**
 * Sends uploaded bytes: all of them, one range, or a 304 when the client has them already (RFC 9110).
 * @throws ApiError 416 when there are no bytes in the range.
 */
export async function answerBytes(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  { size, contentType, etag: tag, originalName, disposition, open }: Bytes,
): Promise<FastifyReply> {
  const etag = `"${tag}"`
  const isKnown = matches(headers['if-none-match'], etag)
  const isCurrent = headers['if-range'] === undefined || headers['if-range'] === etag
  const range = isCurrent && !isKnown ? readRange(headers.range, size) : undefined
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${size}`)
    throw new ApiError(416, 'invalid_range', `The header Range asks for bytes beyond the end: there are ${size}`)
  }

  reply.headers({
    etag,
    'accept-ranges': 'bytes',
    // Keeps what CORS has added.
    vary: [reply.getHeader('vary') ?? [], 'Authorization'].flat().join(', '),
    'cache-control': cacheControl,
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
  })
  if (isKnown) return reply.code(304).send()

  const { start, end } = range ?? { start: 0, end: size - 1 }
  const bytes = method === 'HEAD' ? undefined : await open(range)
  reply.headers({
    'content-type': contentType,
    'content-disposition': contentDisposition(originalName, { type: disposition }),
    'content-length': end + 1 - start,
    ...(range && { 'content-range': `bytes ${start}-${end}/${size}` }),
  })
  return reply.code(range ? 206 : 200).send(bytes)
}

/** By weak comparison. */
const matches = (header: string | undefined, etag: string) =>
  header !== undefined &&
  (header.trim() === '*' || header.split(',').some((each) => each.trim().replace(/^W\//, '') === etag))

/**
 * Reads the header `Range` (RFC 9110, section 14). Undefined means all bytes: also for several ranges, and for a header that is not
 * a range of bytes. `unsatisfiable`: there are no bytes in the range.
 */
function readRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  // The grammar has no white space. To allow it in two places would take quadratic time for a header full of it.
  const [, first, last] = /^bytes=(\d*)-(\d*)$/i.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 }
  }
  if (last !== '' && Number(last) < Number(first)) return undefined
  if (Number(first) >= size) return 'unsatisfiable'
  return { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}
