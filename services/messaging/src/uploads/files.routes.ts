import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Attachment, IdempotencyHeaders, limits, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { recogniseFile } from './formats.ts'
import type { UploadMemory } from './memory.ts'
import { readOriginalName } from './original-name.ts'
import { readUploads, tooLong } from './upload.body.ts'
import { storeUpload } from './upload.storing.ts'

const uploaded = {
  200: Type.Object({ success: Type.Literal(true), attachment: Attachment }),
  ...refusals(400, 401, 409, 413, 429, 503),
}
const accepted =
  'At most 25 MB; PDF, TXT, Markdown, CSV, JSON, ZIP, DOC, DOCX, XLS, XLSX, PPT or PPTX, by its extension and its ' +
  'content. Put the attachment on a message within 24 hours, or it is removed; of what is on no message one person may have 500 MB (`uploads.maxUnattachedBytes`), beyond that it is a 413.'
const filename = Type.String({ description: 'What the file is called, with its extension', maxLength: 4_096 })

const UploadFile = {
  summary: 'Upload a file, to be attached to messages',
  headers: IdempotencyHeaders,
  description: accepted,
  body: Type.Object({
    filename,
    file: Type.String({ description: 'base64, with padding, without line breaks', contentEncoding: 'base64' }),
    contentType: Type.Optional(Type.String({ description: 'A hint: what is recognised is stored' })),
  }),
  response: uploaded,
}

const UploadBytes = {
  summary: 'Upload a file as it is',
  headers: IdempotencyHeaders,
  description: `The body is the file. ${accepted}`,
  consumes: ['application/octet-stream'],
  querystring: Type.Object({ filename }),
  body: Type.Unknown({ description: 'The bytes of the file' }),
  response: uploaded,
}

/** Attachments as base64 in JSON. */
export const fileRoutes =
  (deps: Deps, memory: UploadMemory): FastifyPluginAsyncTypebox =>
  async (app) => {
    const bodies = readUploads(app, memory, { base64: ['file'] })
    app.post('/files', { schema: UploadFile }, (request) =>
      bodies.use(request, async () => {
        const { caller, headers, body } = request
        const key = headers['idempotency-key']
        return keep(deps, { uploadedBy: caller.userId, given: body.filename, key }, () =>
          bodies.bytesOf(request, 'file', body.file),
        )
      }),
    )
  }

/** Attachments as they are. */
export const binaryFileRoutes =
  (deps: Deps, memory: UploadMemory): FastifyPluginAsyncTypebox =>
  async (app) => {
    const bodies = readUploads(app, memory, 'bytes')
    app.post('/files/binary', { schema: UploadBytes }, (request) =>
      bodies.use(request, async () => {
        const { caller, headers, query } = request
        const key = headers['idempotency-key']
        return keep(deps, { uploadedBy: caller.userId, given: query.filename, key }, () => bodies.wholeOf(request))
      }),
    )
  }

interface FileUpload {
  uploadedBy: string
  /** What its uploader calls it. */
  given: string
  /** `Idempotency-Key`. */
  key: string | undefined
}

async function keep(deps: Deps, { uploadedBy, given, key }: FileUpload, read: () => Buffer) {
  const { name, extension } = readOriginalName(given)
  const bytes = read()
  if (bytes.length > limits.file) throw tooLong('file', limits.file)
  const contentType = await recogniseFile(bytes, extension)
  const about = { kind: 'file', channelId: null, originalName: name, extension, contentType, uploadedBy } as const
  const filename = await storeUpload(deps, { ...about, bytes, thumbnail: undefined }, key)
  const attachment = { filename, originalName: name, contentType, size: bytes.length }
  return { success: true as const, attachment }
}
