import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel, accessConversation, accessFile, accessImage } from '@parley/access'
import { BlobMissing, type BlobStore, type ByteRange, thumbnailKey } from '@parley/blobs'
import { Id, notFound, refusals } from '@parley/contract'
import type { UploadRow } from '@parley/database'
import type { Deps } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { answerBytes, type Bytes } from './answer-bytes.ts'

const Filename = Type.String({ description: 'As the upload answered it' })
const bytes = (description: string) => ({
  description,
  content: { '*/*': { schema: Type.String({ format: 'binary' }) } },
})
const answers = {
  200: bytes('The bytes'),
  206: bytes('The range of them that the header Range asks for'),
  304: Type.Null({ description: 'The caller has these bytes: If-None-Match names their ETag' }),
  ...refusals(400, 401, 403, 404, 416, 503),
}

const DownloadFile = {
  summary: 'Download a file',
  description: 'For whoever may read a message that has it, and its uploader.',
  params: Type.Object({ filename: Filename }),
  response: answers,
}

const size = Type.Optional(Type.String({ description: '`thumb` for the thumbnail, or the image while it has none' }))
const ImageQuery = Type.Object({ size })
const DownloadChannelImage = {
  summary: 'An image of a channel',
  description: 'For whoever may read the channel. Images of replies are here too.',
  params: Type.Object({ channelId: Id, filename: Filename }),
  querystring: ImageQuery,
  response: answers,
}
const DownloadDirectImage = {
  summary: 'An image of a conversation',
  description: 'For its participants.',
  params: Type.Object({ conversationId: Id, filename: Filename }),
  querystring: ImageQuery,
  response: answers,
}

/** Also by HEAD: what GET would answer, without the bytes. */
export const downloadRoutes =
  ({ db, blobs }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    async function file(request: FastifyRequest, reply: FastifyReply) {
      const { filename } = request.params as Static<typeof DownloadFile.params>
      const upload = await accessFile(db, request.caller, filename)
      return answerBytes(request, reply, wholeOf(blobs, upload))
    }
    app.get('/files/:filename', { schema: DownloadFile, exposeHeadRoute: false }, file)
    app.head('/files/:filename', { schema: { hide: true } }, file)

    async function channelImage(request: FastifyRequest, reply: FastifyReply) {
      const { channelId, filename } = request.params as Static<typeof DownloadChannelImage.params>
      const channel = await accessChannel(db, request.caller, channelId)
      return image(request, reply, await accessImage(db, request.caller, channel, filename))
    }
    const ofChannel = '/channels/:channelId/messages/image/:filename'
    app.get(ofChannel, { schema: DownloadChannelImage, exposeHeadRoute: false }, channelImage)
    app.head(ofChannel, { schema: { hide: true } }, channelImage)

    async function directImage(request: FastifyRequest, reply: FastifyReply) {
      const { conversationId, filename } = request.params as Static<typeof DownloadDirectImage.params>
      const conversation = await accessConversation(db, request.caller, conversationId)
      return image(request, reply, await accessImage(db, request.caller, conversation, filename))
    }
    const ofConversation = '/conversations/:conversationId/messages/image/:filename'
    app.get(ofConversation, { schema: DownloadDirectImage, exposeHeadRoute: false }, directImage)
    app.head(ofConversation, { schema: { hide: true } }, directImage)

    async function image(request: FastifyRequest, reply: FastifyReply, upload: UploadRow) {
      const { size } = request.query as Static<typeof ImageQuery>
      const bytes = size === 'thumb' ? await thumbnailOf(blobs, upload) : wholeOf(blobs, upload)
      return answerBytes(request, reply, bytes)
    }
  }

/** The bytes as they were uploaded. Browsers save files and show images. */
const wholeOf = (blobs: BlobStore, { kind, filename, digest, ...upload }: UploadRow): Bytes => ({
  ...upload,
  etag: digest.toString('hex'),
  disposition: kind === 'image' ? 'inline' : 'attachment',
  open: (range) => openBlob(blobs, filename, range),
})

/** The thumbnail of an image, or the image itself while it has none. */
async function thumbnailOf(blobs: BlobStore, upload: UploadRow): Promise<Bytes> {
  const image = wholeOf(blobs, upload)
  const { thumbnailType } = upload
  if (thumbnailType === null) return image

  // Its size is not stored. It is small.
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
