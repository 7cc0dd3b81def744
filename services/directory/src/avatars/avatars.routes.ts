import { buffer } from 'node:stream/consumers'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { seesPerson } from '@parley/access'
import { type AvatarSide, avatarKey, BlobMissing, type BlobStore } from '@parley/blobs'
import { Id, invalid, limits, notFound, Ok, refusals } from '@parley/contract'
import { readImageSize } from '@parley/images'
import { addVary, type Deps, decodeBase64 } from '@parley/service'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { findAvatar, removeAvatar, replacePendingAvatar, requestEncoding } from './avatars.queries.ts'

const formats = ['image/png', 'image/jpeg', 'image/webp']
/** The worker does not decode images with more pixels. */
const maxPixels = 50_000_000
/** More than the largest avatar as base64, so that a larger image gets an error about the image. */
const bodyLimit = 2 * limits.avatar

const PutAvatar = {
  summary: 'Change the caller’s avatar',
  description:
    'PNG, JPEG or WebP, at most 1 MB and 50 million pixels: as base64 in JSON, or as the body itself with an image type as its ' +
    'Content-Type. It is encoded to squares of 64 and 256 pixels shortly afterwards. Then UPDATE_USER has the new `avatarVersion`.',
  body: Type.Object({
    image: Type.String({ contentEncoding: 'base64', description: 'base64, with padding, without line breaks' }),
  }),
  response: {
    200: Type.Object({
      ...Ok.properties,
      avatarVersion: Type.String({ description: 'The version that the avatar will have once it is encoded' }),
    }),
    ...refusals(400, 401, 413, 503),
  },
}

const DeleteAvatar = {
  summary: 'Remove the caller’s avatar',
  description: 'Also removes an avatar that is still being encoded. UPDATE_USER is sent. Idempotent.',
  response: { 200: Ok, ...refusals(401) },
}

const GetAvatar = {
  summary: 'Get the avatar of a person, as WebP',
  description: 'A version never changes, so it may be cached for a year. It exists until it is replaced.',
  params: Type.Object({ id: Id, version: Type.String({ description: '`avatarVersion` of the person' }) }),
  querystring: Type.Object({
    size: Type.Enum(['64', '256'], { default: '256', description: 'Width and height in pixels' }),
  }),
  response: {
    200: {
      description: 'The bytes',
      content: { 'image/webp': { schema: Type.String({ format: 'binary' }) } },
    },
    ...refusals(400, 401, 404, 503),
  },
}

/** The avatars of people. The worker encodes them. */
export const avatarRoutes =
  ({ db, blobs, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    // A body that is the image itself gets the form of the JSON body.
    app.addContentTypeParser<Buffer>(
      /^image\//,
      { parseAs: 'buffer', bodyLimit },
      async (_request: unknown, body: Buffer) => ({ image: body.toString('base64') }),
    )

    app.put('/users/me/avatar', { schema: PutAvatar, bodyLimit }, async ({ caller, body }) => {
      const image = decodeBase64('image', body.image)
      const contentType = recogniseAvatar(image)
      const version = await replacePendingAvatar(db, caller.userId, clock())
      await blobs.put(avatarKey(version, 'original'), image, { size: image.length, contentType })
      if (!(await requestEncoding(db, version))) await blobs.delete([avatarKey(version, 'original')])
      return { success: true as const, avatarVersion: version }
    })

    app.delete('/users/me/avatar', { schema: DeleteAvatar }, async ({ caller }) => {
      await removeAvatar(db, caller.userId)
      return { success: true as const }
    })

    app.get('/users/:id/avatar/:version', { schema: GetAvatar }, async ({ caller, params, query }, reply) => {
      const avatar = await findAvatar(db, params.id, params.version)
      if (!avatar || !(await seesPerson(db, caller, params.id))) throw notFound('avatar')
      return sendAvatar(reply, await readAvatar(blobs, avatar.version, Number(query.size) as AvatarSide))
    })
  }

async function readAvatar(blobs: BlobStore, version: string, side: AvatarSide): Promise<Buffer> {
  try {
    return await buffer(await blobs.get(avatarKey(version, side)))
  } catch (error) {
    // The avatar was replaced in the meantime.
    throw error instanceof BlobMissing ? notFound('avatar') : error
  }
}

function sendAvatar(reply: FastifyReply, bytes: Buffer) {
  addVary(reply, 'Authorization')
  return reply
    .headers({
      'content-type': 'image/webp',
      'cache-control': 'private, max-age=31536000, immutable',
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
    })
    .send(bytes)
}

/** The content type of an image. @throws ApiError 400 when it cannot become an avatar. */
function recogniseAvatar(image: Buffer): string {
  if (image.length > limits.avatar) throw invalid('The image is larger than 1 MB')
  for (const contentType of formats) {
    const size = readImageSize(image, contentType)
    if (!size) continue
    if (size.width * size.height > maxPixels) throw invalid('The image has more than 50 million pixels')
    return contentType
  }
  throw invalid('image must be a PNG, JPEG or WebP image')
}
