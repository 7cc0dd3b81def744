import type { Readable } from 'node:stream'
import { ApiError } from '@parley/contract'
import { create as contentDisposition } from 'content-disposition'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ByteRange, readRange } from './range.ts'

export interface Bytes {
  size: number
  contentType: string
  /** Without its quotes; the same for the same bytes only. */
  etag: string
  /** What the file is saved as. */
  originalName: string
  disposition: 'attachment' | 'inline'
  /** The bytes themselves, or a range of them. */
  open(range: ByteRange | undefined): Promise<Readable>
}

/** Kept, but asked for each time: who may read may change, and people share browsers. With the ETag that costs no bytes. */
const cacheControl = 'private, no-cache'

/**
 * Nothing in what people upload may run as a page of ours: it is shown without scripts, forms, frames and an origin, and
 * is what it is said to be.
 */
const policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"

/**
 * Answers bytes that people uploaded: whole, one range of them, or that the caller has them already (RFC 9110).
 * @throws ApiError 416 when there is nothing in the range.
 */
export async function answerBytes(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  { size, contentType, etag: tag, originalName, disposition, open }: Bytes,
): Promise<FastifyReply> {
  const etag = `"${tag}"`
  const isKnown = names(headers['if-none-match'], etag)
  const isCurrent = headers['if-range'] === undefined || headers['if-range'] === etag
  const range = isCurrent && !isKnown ? readRange(headers.range, size) : undefined
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${size}`)
    throw new ApiError(416, 'invalid_range', `The header Range asks for bytes beyond the end: there are ${size}`)
  }

  reply.headers({
    etag,
    'accept-ranges': 'bytes',
    // What CORS said of the origin stays.
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

/** A weak tag of the same bytes will do. */
const names = (header: string | undefined, etag: string) =>
  header !== undefined &&
  (header.trim() === '*' || header.split(',').some((each) => each.trim().replace(/^W\//, '') === etag))
