import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import zlib, { constants } from 'node:zlib'
import { createLimiter } from '@parley/limiter'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import Negotiator from 'negotiator'
import { addVary } from './responses.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** False for responses that are never compressed. Routes whose response has a token are found by their schema. */
    compress?: boolean
  }
}

const minBytes = 1_024
/** Larger bodies are compressed in the thread pool. A body of this size takes half a millisecond in the event loop. */
const maxBytesInLoop = 65_536
/** Larger files are not compressed, because compression happens in memory. */
const maxFileBytes = 8 * 1024 * 1024
/** The largest number of compressors in the thread pool. Each uses up to 1 MB. */
const maxCompressors = 2

/** The lowest levels are used. Higher ones take up to five times as long and save only 3% of the bytes of a message listing. */
const zstd = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const br = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT },
}
const gzip = { level: 1 }

interface Coding {
  inLoop(bytes: Buffer): Buffer
  inPool(bytes: Buffer): Promise<Buffer>
}
const [zstdAsync, brAsync, gzipAsync] = [
  promisify<Buffer, object, Buffer>(zlib.zstdCompress),
  promisify<Buffer, object, Buffer>(zlib.brotliCompress),
  promisify<Buffer, object, Buffer>(zlib.gzip),
]
/** In the order of preference, for a client that accepts several equally. */
const codings = {
  zstd: { inLoop: (bytes) => zlib.zstdCompressSync(bytes, zstd), inPool: (bytes) => zstdAsync(bytes, zstd) },
  br: { inLoop: (bytes) => zlib.brotliCompressSync(bytes, br), inPool: (bytes) => brAsync(bytes, br) },
  gzip: { inLoop: (bytes) => zlib.gzipSync(bytes, gzip), inPool: (bytes) => gzipAsync(bytes, gzip) },
} satisfies Record<string, Coding>
type CodingName = keyof typeof codings
const preferred = Object.keys(codings) as CodingName[]

/**
 * Compresses JSON, text and static files of at least 1 KB by `Accept-Encoding`. Not compressed are event streams,
 * uploaded files (they have strong ETags and ranges), exports, and every response whose schema has a token: an attacker
 * who can add text beside a secret could guess the secret from the compressed length (BREACH).
 */
export function compressResponses(app: FastifyInstance): void {
  const limit = createLimiter(maxCompressors)

  app.addHook('onRoute', (route: RouteOptions) => {
    if (hasToken(route.schema?.response)) route.config = { ...route.config, compress: false }
  })

  app.addHook('onSend', (request, reply, payload, done) => {
    if (reply.statusCode === 304 && String(reply.getHeader('etag')).startsWith('W/')) addVary(reply, 'Accept-Encoding')
    if (!isCompressible(request, reply, payload)) return done(null, payload)
    addVary(reply, 'Accept-Encoding')
    const coding = negotiate(request)
    if (coding === undefined) return done(null, payload)
    reply.header('content-encoding', coding).removeHeader('accept-ranges').removeHeader('content-length')
    // The response to HEAD has the headers of GET, without the length, which is not known before compression.
    if (request.method === 'HEAD' && isStream(payload)) return done(null, payload)
    compress(payload as string | Buffer | Readable, codings[coding]).then((bytes) => done(null, bytes), done)
  })

  async function compress(payload: string | Buffer | Readable, coding: Coding): Promise<Buffer> {
    const bytes = isStream(payload) ? await buffer(payload) : Buffer.from(payload as string)
    return bytes.length <= maxBytesInLoop ? coding.inLoop(bytes) : limit(() => coding.inPool(bytes))
  }
}

/** The coding that the client prefers; `undefined` when it accepts none of ours or prefers an uncompressed response. */
function negotiate(request: FastifyRequest): CodingName | undefined {
  const best = new Negotiator(request).encoding([...preferred, 'identity'], { preferred })
  return best === 'identity' ? undefined : (best as CodingName | undefined)
}

const isStream = (payload: unknown): payload is Readable => typeof (payload as Readable).pipe === 'function'

/** All kinds of text, except the event stream. */
const compressibleType =
  /^(?:text\/(?!event-stream)|application\/(?:json|javascript|wasm|yaml)\b|[^;]+\+(?:json|xml)\b)/

function isCompressible({ routeOptions }: FastifyRequest, reply: FastifyReply, payload: unknown): boolean {
  if (payload === null || payload === undefined || sizeOf(payload, reply) < minBytes) return false
  if (routeOptions.config.compress === false || reply.statusCode === 206 || reply.hasHeader('content-encoding')) {
    return false
  }
  // A strong ETag identifies exactly these bytes (RFC 9110, 8.8.1).
  const etag = reply.getHeader('etag')
  if (etag !== undefined && !String(etag).startsWith('W/')) return false
  if (isStream(payload) && sizeOf(payload, reply) > maxFileBytes) return false
  return compressibleType.test(String(reply.getHeader('content-type') ?? ''))
}

/** The size in bytes. A stream without a length counts as endless. */
function sizeOf(payload: unknown, reply: FastifyReply): number {
  // Most responses are short texts, for which the exact number of bytes is not needed.
  if (typeof payload === 'string') return payload.length < minBytes / 3 ? payload.length : Buffer.byteLength(payload)
  if (Buffer.isBuffer(payload)) return payload.length
  return Number(reply.getHeader('content-length') ?? Number.POSITIVE_INFINITY)
}

/** Whether a field of the responses is called `token`, `accessToken` or the like. */
const hasToken = (response: unknown) => /"\w*token":\{/i.test(JSON.stringify(response ?? {}))
