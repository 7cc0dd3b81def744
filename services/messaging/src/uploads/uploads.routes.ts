import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel, accessConversation, accessParent } from '@parley/access'
import {
  Attachment,
  Id,
  IdempotencyHeaders,
  imageExtensions,
  invalid,
  limits,
  Nullable,
  refusals,
} from '@parley/contract'
import { findCaller, readUploadPass, requireScope, type UploadPass } from '@parley/identity'
import { readImageSize } from '@parley/images'
import type { Deps } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { recogniseFile, recogniseImage, recogniseThumbnail } from './formats.ts'
import { type OriginalName, readOriginalName } from './original-name.ts'
import { storeUpload } from './store-upload.ts'
import { readUploadBodies, takeBase64, takeFileOfForm, tooLong } from './upload-bodies.ts'
import type { UploadMemory } from './upload-memory.ts'

const unattached =
  'or the server removes it. One person may have 500 MB of unattached uploads (`uploads.maxUnattachedBytes`); more is refused with 400.'
const base64 = { contentEncoding: 'base64', description: 'base64, with padding, without line breaks' }
const nameOf = (what: string) =>
  Type.String({ description: `The name of the ${what}, with its extension`, maxLength: 4_096 })

const uploadedFile = {
  200: Type.Object({ success: Type.Literal(true), attachment: Attachment }),
  ...refusals(400, 401, 409, 413, 429, 503),
}
const acceptedFiles =
  'At most 25 MB; PDF, TXT, Markdown, CSV, JSON, ZIP, DOC, DOCX, XLS, XLSX, PPT or PPTX. The extension and the content must ' +
  `match. Put the attachment on a message within 24 hours, ${unattached}`

const UploadFile = {
  summary: 'Upload a file as base64, for an attachment',
  headers: IdempotencyHeaders,
  description: acceptedFiles,
  body: Type.Object({
    filename: nameOf('file'),
    file: Type.String(base64),
    contentType: Type.Optional(Type.String({ description: 'A hint. The server recognises the type and stores it' })),
  }),
  response: uploadedFile,
}

const UploadBytes = {
  summary: 'Upload a file as bytes, for an attachment',
  headers: IdempotencyHeaders,
  description: `The body is the file. ${acceptedFiles}`,
  consumes: ['application/octet-stream'],
  querystring: Type.Object({ filename: nameOf('file') }),
  body: Type.Unknown({ description: 'The bytes of the file' }),
  response: uploadedFile,
}

const UploadByPass = {
  summary: 'Send the bytes of a file that was announced with files.getUploadURLExternal',
  description: `The address is the \`upload_url\` of that response, and works for half an hour. The body is the file, or a form (\`multipart/form-data\`) with the file. The file must have the announced length. ${acceptedFiles}`,
  consumes: ['application/octet-stream'],
  querystring: Type.Object({ pass: Type.String({ maxLength: 16_384, description: 'Part of the address' }) }),
  body: Type.Unknown({ description: 'The bytes of the file' }),
  response: {
    200: Type.Object({ ok: Type.Literal(true), size: Type.Integer({ description: 'In bytes' }) }),
    ...refusals(400, 401, 403, 409, 413, 429, 503),
  },
}

const ImageBody = Type.Object({
  filename: nameOf('image'),
  image: Type.String(base64),
  thumbnail: Type.Optional(Type.String({ ...base64, description: 'At most 1 MB; without it, the server makes one' })),
})
type ImageBody = Static<typeof ImageBody>

const image = {
  description:
    'At most 10 MB; JPG, PNG, WebP or SVG. The extension and the content must match. The image belongs to the channel or conversation ' +
    `to which it is uploaded. Put its name on a message there within 24 hours, ${unattached}`,
  headers: IdempotencyHeaders,
  body: ImageBody,
  response: {
    200: Type.Object({
      success: Type.Literal(true),
      filename: Type.String(),
      width: Nullable(Type.Integer({ description: 'In pixels, of the upright image; null when it is not known' })),
      height: Nullable(Type.Integer({ description: 'In pixels, as `width`' })),
    }),
    ...refusals(400, 401, 403, 404, 409, 413, 429, 503),
  },
}
const UploadChannelImage = {
  summary: 'Upload an image for messages of a channel',
  params: Type.Object({ channelId: Id }),
  ...image,
}
const UploadReplyImage = {
  summary: 'Upload an image for replies to a message',
  params: Type.Object({ messageId: Id }),
  ...image,
}
const UploadDirectImage = {
  summary: 'Upload an image for direct messages',
  params: Type.Object({ conversationId: Id }),
  ...image,
}

/** Uploads of attachments as base64 in JSON. */
export const fileRoutes =
  (deps: Deps, memory: UploadMemory): FastifyPluginAsyncTypebox =>
  async (app) => {
    readUploadBodies(app, memory, ['file'])
    app.post('/files', { schema: UploadFile }, (request) =>
      storeFile(deps, request, request.body.filename, () => takeBase64(request.body, 'file')),
    )
  }

/** Uploads of attachments as bytes. */
export const binaryFileRoutes =
  (deps: Deps, memory: UploadMemory): FastifyPluginAsyncTypebox =>
  async (app) => {
    readUploadBodies(app, memory)
    app.post('/files/binary', { schema: UploadBytes }, (request) =>
      storeFile(deps, request, request.query.filename, () => bytesOf(request)),
    )
  }

declare module 'fastify' {
  interface FastifyRequest {
    /** The announced upload, on the route that receives its bytes. */
    uploadPass: UploadPass
  }
}

/** Uploads of files and images that were announced through Slack's API. An image gets its channel when it is put on a message. */
export const announcedUploadRoutes =
  (deps: Deps, memory: UploadMemory): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, tokens, seals, clock } = deps
    app.decorateRequest('uploadPass', null as unknown as UploadPass)
    readUploadBodies(app, memory, undefined, limits.file + formBytes)

    async function onRequest(request: FastifyRequest) {
      request.uploadPass = readUploadPass(seals, (request.query as { pass?: string }).pass ?? '', clock())
      request.claims = await tokens.verifyAccess(request.uploadPass.token)
      request.caller = await findCaller(db, request.claims, clock())
      requireScope(request.caller, 'write')
    }

    const route = { schema: UploadByPass, config: { access: 'none' }, onRequest } as const
    app.post('/slack/files', route, async (request) => {
      const { filename, originalName, size } = request.uploadPass
      const { userId } = await findCaller(db, request.claims, clock())
      const name = readOriginalName(originalName)
      const bytes = await takeFileOfForm(bytesOf(request), request.headers['content-type'] ?? '')
      if (bytes.length !== size) throw invalid(`The file has ${bytes.length} bytes, and ${size} were announced`)
      const kind = imageExtensions.some((each) => each === name.extension) ? 'image' : 'file'
      const upload = { ...(await readUpload(kind, name, bytes)), channelId: null, uploadedBy: userId }
      await storeUpload(deps, { ...upload, filename, thumbnail: undefined }, filename)
      return { ok: true as const, size }
    })
  }

/** The size of a form beside the file. */
const formBytes = 16 * 1024

/** Uploads of images. An image belongs to the channel or conversation to which it is uploaded. */
export const imageRoutes =
  (deps: Deps, memory: UploadMemory): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db } = deps
    readUploadBodies(app, memory, ['image', 'thumbnail'])

    app.post('/channels/:channelId/messages/image', { schema: UploadChannelImage }, async (request) => {
      const channel = await accessChannel(db, request.caller, request.params.channelId)
      return storeImage(deps, request, channel.id, request.body)
    })

    app.post('/messages/:messageId/thread/image', { schema: UploadReplyImage }, async (request) => {
      const { channel } = await accessParent(db, request.caller, request.params.messageId)
      return storeImage(deps, request, channel.id, request.body)
    })

    app.post('/conversations/:conversationId/messages/image', { schema: UploadDirectImage }, async (request) => {
      const conversation = await accessConversation(db, request.caller, request.params.conversationId)
      return storeImage(deps, request, conversation.id, request.body)
    })
  }

async function storeFile(deps: Deps, request: FastifyRequest, givenName: string, read: () => Buffer) {
  const name = readOriginalName(givenName)
  const file = await readUpload('file', name, read())
  const upload = { ...file, channelId: null, uploadedBy: request.caller.userId, thumbnail: undefined }
  const filename = await storeUpload(deps, upload, keyOf(request))
  const { originalName, contentType, bytes } = file
  return { success: true as const, attachment: { filename, originalName, contentType, size: bytes.length } }
}

async function storeImage(deps: Deps, request: FastifyRequest, channelId: string, body: ImageBody) {
  const name = readOriginalName(body.filename)
  const image = await readUpload('image', name, takeBase64(body, 'image'))
  const thumbnail = body.thumbnail === undefined ? undefined : await readThumbnail(body)
  const upload = { ...image, channelId, uploadedBy: request.caller.userId, thumbnail }
  const filename = await storeUpload(deps, upload, keyOf(request))
  const { pixels } = image
  return { success: true as const, filename, width: pixels?.width ?? null, height: pixels?.height ?? null }
}

/**
 * Recognises an uploaded file or image. @throws ApiError 400 when it is too large, or its content does not match the
 * extension of its name.
 */
async function readUpload(kind: 'file' | 'image', { name, extension }: OriginalName, bytes: Buffer) {
  if (bytes.length > limits[kind]) throw tooLong(kind, limits[kind])
  const recognise = kind === 'image' ? recogniseImage : recogniseFile
  const contentType = await recognise(bytes, extension)
  const pixels = kind === 'image' ? readImageSize(bytes, contentType) : undefined
  return { kind, originalName: name, extension, contentType, bytes, pixels }
}

/** The bytes that a request has as its body. There are none when the body is missing. */
const bytesOf = ({ body }: FastifyRequest) => (Buffer.isBuffer(body) ? body : Buffer.alloc(0))

async function readThumbnail(body: ImageBody) {
  const bytes = takeBase64(body, 'thumbnail')
  if (bytes.length === 0) throw invalid('thumbnail must not be empty')
  if (bytes.length > limits.thumbnail) throw tooLong('thumbnail', limits.thumbnail)
  return { bytes, contentType: await recogniseThumbnail(bytes) }
}

const keyOf = ({ headers }: FastifyRequest) => headers['idempotency-key'] as string | undefined
