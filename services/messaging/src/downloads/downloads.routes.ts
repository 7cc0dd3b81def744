import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessFile, accessImage, accessPlace, type PlaceInPath } from '@parley/access'
import { BlobMissing, type BlobStore, type ByteRange, thumbnailKey } from '@parley/blobs'
import { ApiError, Id, notFound, refusals } from '@parley/contract'
import type { UploadRow } from '@parley/database'
import { addVary, type Deps } from '@parley/service'
import { create as contentDisposition } from 'content-disposition'
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { type Static, Type } from 'typebox'

const Filename = Type.String({ description: 'The stored name, from the response to the upload' })
const bytes = (description: string) => ({
  description,
  content: { '*/*': { schema: Type.String({ format: 'binary' }) } },
})
const responses = {
  200: bytes('The bytes'),
  206: bytes('The range of bytes that the header Range asks for'),
  304: Type.Null({ description: 'The caller has these bytes already: If-None-Match contains their ETag' }),
  ...refusals(400, 401, 403, 404, 416, 503),
}

const DownloadFile = {
  summary: 'Download a file',
  description: 'For its uploader, and for everybody who may read a message with this file.',
  params: Type.Object({ filename: Filename }),
  response: responses,
}

const size = Type.Optional(
  Type.String({ description: '`thumb` for the thumbnail, or for the image while it has no thumbnail' }),
)
const ImageQuery = Type.Object({ size })
const DownloadChannelImage = {
  summary: 'Download an image of a channel',
  description: 'For everybody who may read the channel. Images of replies belong to the channel too.',
  params: Type.Object({ channelId: Id, filename: Filename }),
  querystring: ImageQuery,
  response: responses,
}
const DownloadDirectImage = {
  summary: 'Download an image of a conversation',
  description: 'For its participants.',
  params: Type.Object({ conversationId: Id, filename: Filename }),
  querystring: ImageQuery,
  response: responses,
}

/** Downloads, by GET, and by HEAD without the bytes. */
export const downloadRoutes =
  ({ db, blobs }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    async function file(request: FastifyRequest, reply: FastifyReply) {
      const { filename } = request.params as Static<typeof DownloadFile.params>
      const upload = await accessFile(db, request.caller, filename)
      return sendBytes(request, reply, wholeOf(blobs, upload))
    }
    download('/files/:filename', DownloadFile, file)

    async function image(request: FastifyRequest, reply: FastifyReply) {
      const { filename, ...place } = request.params as PlaceInPath & { filename: string }
      const { size } = request.query as Static<typeof ImageQuery>
      const channel = await accessPlace(db, request.caller, place)
      const upload = await accessImage(db, request.caller, channel, filename)
      return sendBytes(request, reply, size === 'thumb' ? await thumbnailOf(blobs, upload) : wholeOf(blobs, upload))
    }
    download('/channels/:channelId/messages/image/:filename', DownloadChannelImage, image)
    download('/conversations/:conversationId/messages/image/:filename', DownloadDirectImage, image)

    function download(path: string, schema: object, handler: RouteHandlerMethod) {
      app.get(path, { schema, exposeHeadRoute: false }, handler)
      app.head(path, { schema: { hide: true } }, handler)
    }
  }

/** The bytes as they were uploaded. Browsers save files and show images. */
const wholeOf = (blobs: BlobStore, { kind, filename, digest, ...upload }: UploadRow): Bytes => ({
  ...upload,
  etag: digest.toString('hex'),
  disposition: kind === 'image' ? 'inline' : 'attachment',
  open: (range) => openBlob(blobs, filename, range),
})

/** The thumbnail of an image, or the image itself while it has no thumbnail. */
async function thumbnailOf(blobs: BlobStore, upload: UploadRow): Promise<Bytes> {
  const image = wholeOf(blobs, upload)
  const { thumbnailType } = upload
  if (thumbnailType === null) return image

  // Its size is not stored, so all of it is read. A thumbnail is small.
  const bytes = await buffer(await openBlob(blobs, thumbnailKey(upload.filename)))
  return {
    ...image,
    size: bytes.length,
    contentType: thumbnailType,
    etag: `${image.etag}-thumbnail`,
    open: async (range) => Readable.from([range ? bytes.subarray(range.start, range.end + 1) : bytes]),
  }
}

/** @throws ApiError 404 when the clean-up has just removed the upload. */
async function openBlob(blobs: BlobStore, key: string, range?: ByteRange): Promise<Readable> {
  try {
    return await blobs.get(key, range)
  } catch (error) {
    throw error instanceof BlobMissing ? notFound('file') : error
  }
}

export interface Bytes {
  size: number
  contentType: string
  /** Without its quotes. */
  etag: string
  /** The name under which a browser saves the file. */
  originalName: string
  disposition: 'attachment' | 'inline'
  /** The bytes themselves, or a range of them. */
  open(range: ByteRange | undefined): Promise<Readable>
}

/**
 * Browsers revalidate each time, because rights change and people share browsers. With the ETag they do not load the
 * bytes again.
 */
const cacheControl = 'private, no-cache'

/**
 * An uploaded file never runs as a page of this server: browsers show it without scripts, forms and frames, and in an
 * origin of its own.
 */
const policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"

/**
 * Sends uploaded bytes: all of them, one range, or a 304 when the client has them already (RFC 9110).
 * @throws ApiError 416 when the range contains no bytes.
 */
async function sendBytes(
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
    throw new ApiError(
      416,
      'invalid_range',
      `The header Range asks for bytes beyond the end. The file has ${size} bytes`,
    )
  }

  addVary(reply, 'Authorization')
  reply.headers({
    etag,
    'accept-ranges': 'bytes',
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
 * Reads the header `Range` (RFC 9110, section 14). Undefined means all bytes. Several ranges, and a header that is not
 * a range of bytes, mean that too. `unsatisfiable` means that the range contains no bytes.
 */
function readRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  // The grammar has no white space. An expression that allows it in two places takes quadratic time for a header full
  // of spaces.
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
