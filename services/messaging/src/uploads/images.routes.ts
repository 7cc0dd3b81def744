import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel, accessConversation } from '@parley/access'
import { Id, IdempotencyHeaders, invalid, limits, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { accessParent } from '../threads/reply.creation.ts'
import { recogniseImage, recogniseThumbnail } from './formats.ts'
import type { UploadMemory } from './memory.ts'
import { readOriginalName } from './original-name.ts'
import { readUploads, tooLong, type UploadBodies } from './upload.body.ts'
import { storeUpload } from './upload.storing.ts'

const base64 = { contentEncoding: 'base64', description: 'base64, with padding, without line breaks' }
const ImageBody = Type.Object({
  filename: Type.String({ description: 'What the image is called, with its extension', maxLength: 4_096 }),
  image: Type.String(base64),
  thumbnail: Type.Optional(Type.String({ ...base64, description: 'At most 1 MB; made by the server when left out' })),
})
type ImageBody = Static<typeof ImageBody>

const shape = {
  description:
    'At most 10 MB; JPG, PNG, WebP or SVG, by its extension and its content. It belongs to where it is uploaded. Put its ' +
    'name on a message there within 24 hours, or it is removed; of what is on no message one person may have 500 MB (`uploads.maxUnattachedBytes`), beyond that it is a 413.',
  headers: IdempotencyHeaders,
  body: ImageBody,
  response: {
    200: Type.Object({ success: Type.Literal(true), filename: Type.String() }),
    ...refusals(400, 401, 403, 404, 409, 413, 429, 503),
  },
}
const UploadChannelImage = {
  summary: 'Upload an image for messages of a channel',
  params: Type.Object({ channelId: Id }),
  ...shape,
}
const UploadReplyImage = {
  summary: 'Upload an image for replies to a message',
  params: Type.Object({ messageId: Id }),
  ...shape,
}
const UploadDirectImage = {
  summary: 'Upload an image for direct messages',
  params: Type.Object({ conversationId: Id }),
  ...shape,
}

/** An image belongs to the channel or conversation that it is uploaded to. */
export const imageRoutes =
  (deps: Deps, memory: UploadMemory): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db } = deps
    const bodies = readUploads(app, memory, { base64: ['image', 'thumbnail'] })
    const keep = keepImage(deps, bodies)

    app.post('/channels/:channelId/messages/image', { schema: UploadChannelImage }, (request) =>
      bodies.use(request, async () => {
        const channel = await accessChannel(db, request.caller, request.params.channelId)
        return keep(request, channel.id, request.body)
      }),
    )

    app.post('/messages/:messageId/thread/image', { schema: UploadReplyImage }, (request) =>
      bodies.use(request, async () => {
        const { channel } = await accessParent(db, request.caller, request.params.messageId)
        return keep(request, channel.id, request.body)
      }),
    )

    app.post('/conversations/:conversationId/messages/image', { schema: UploadDirectImage }, (request) =>
      bodies.use(request, async () => {
        const conversation = await accessConversation(db, request.caller, request.params.conversationId)
        return keep(request, conversation.id, request.body)
      }),
    )
  }

const keepImage =
  (deps: Deps, bodies: UploadBodies) => async (request: FastifyRequest, channelId: string, body: ImageBody) => {
    const { name, extension } = readOriginalName(body.filename)
    const bytes = bodies.bytesOf(request, 'image', body.image)
    if (bytes.length > limits.image) throw tooLong('image', limits.image)
    const contentType = await recogniseImage(bytes, extension)
    const thumbnail = body.thumbnail === undefined ? undefined : await readThumbnail(body.thumbnail)

    const { userId } = request.caller
    const about = { kind: 'image', channelId, originalName: name, extension, contentType, uploadedBy: userId } as const
    return { success: true as const, filename: await storeUpload(deps, { ...about, bytes, thumbnail }, keyOf(request)) }

    async function readThumbnail(text: string) {
      const bytes = bodies.bytesOf(request, 'thumbnail', text)
      if (bytes.length === 0) throw invalid('thumbnail must not be empty')
      if (bytes.length > limits.thumbnail) throw tooLong('thumbnail', limits.thumbnail)
      return { bytes, contentType: await recogniseThumbnail(bytes) }
    }
  }

const keyOf = ({ headers }: FastifyRequest) => headers['idempotency-key'] as string | undefined
