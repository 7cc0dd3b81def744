import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type AccessedMessage, findChannel } from '@parley/access'
import { Id, IdempotencyHeaders, limits, Message, notFound, Ok, refusals, unauthorized } from '@parley/contract'
import { type ChannelRow, isRowId, type Transaction, uuidv7 } from '@parley/database'
import { type AppPass, readAppPass } from '@parley/identity'
import { bearerToken, type Deps, sendJsonText } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { findMentions } from '../mentions/mentions.ts'
import { claimOfMessage, readNewTextAndBlocks, readTextAndBlocks } from '../message-body.ts'
import { applyDeletion, applyEdit } from '../messages/message-changes.ts'
import { BlocksBody } from '../messages.schema.ts'
import { postOnce, storeMessage } from '../sending/store-message.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** On the routes of apps: the channel to which the app may post now. */
    appPass: AppPass
  }
}

const body = Type.Object({
  content: Type.String({ maxLength: limits.content, description: 'May be empty only when blocks are present' }),
  blocks: Type.Optional(BlocksBody),
})
const shape = { security: [{ appPass: [] }] }
const MessageOfApp = Type.Object({ botId: Id, messageId: Id })

const PostByApp = {
  summary: 'Post the response of an app',
  description:
    'Only the service `integrations` calls this, with a pass. The app has just responded to a command or a button in this channel. Its ' +
    'bot need not be a member of it.',
  ...shape,
  params: Type.Object({ botId: Id }),
  headers: IdempotencyHeaders,
  body,
  response: { 200: Type.Object({ message: Message }), ...refusals(400, 401, 404, 409) },
}
const EditByApp = {
  summary: 'Change a message of an app',
  description:
    'Called like `POST /apps/{botId}/messages`. Only for messages of the same bot, in the channel of the pass.',
  ...shape,
  params: MessageOfApp,
  body,
  response: { 200: Type.Object({ message: Message }), ...refusals(400, 401, 404) },
}
const DeleteByApp = {
  summary: 'Delete a message of an app',
  description:
    'Called like `POST /apps/{botId}/messages`. Only for messages of the same bot, in the channel of the pass.',
  ...shape,
  params: MessageOfApp,
  response: { 200: Ok, ...refusals(401, 404) },
}

/** Messages of apps in the channels where somebody has used the app. */
export const appPostRoutes =
  (deps: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, seals, clock } = deps
    app.decorateRequest('appPass', null as unknown as AppPass)

    // The pass is checked before the body is read, like the token of a person.
    async function onRequest(request: FastifyRequest) {
      const pass = readAppPass(seals, bearerToken(request), clock())
      if (pass.botId !== (request.params as { botId: string }).botId) {
        throw unauthorized('The pass belongs to another app')
      }
      request.appPass = pass
    }
    const options = { config: { access: 'none' }, onRequest } as const

    app.post('/apps/:botId/messages', { schema: PostByApp, ...options }, async (request, reply) => {
      const { appPass, headers, body } = request
      const { botId: userId, channelId } = appPass
      const { content, blocks } = readNewTextAndBlocks(body)
      const mentions = await findMentions(db, content, userId)
      const now = clock()
      const claim = claimOfMessage({ userId, key: headers['idempotency-key'], where: `app in ${channelId}` }, body)
      const message = await postOnce(deps, claim, now, async (trx) => {
        const channel = await lockChannel(trx, appPass)
        const newMessage = { content, blocks, mentions, quotedMessageId: null, createdAt: now }
        return storeMessage(trx, channel, { ...newMessage, id: uuidv7(), author: { userId } })
      })
      return sendJsonText(reply, `{"message":${message}}`)
    })

    app.put('/apps/:botId/messages/:messageId', { schema: EditByApp, ...options }, async (request) => {
      const { appPass, params, body } = request
      const { content, blocks } = readTextAndBlocks(body)
      const mentions = await findMentions(db, content, appPass.botId)
      return db.transaction().execute(async (trx) => {
        const accessed = await lockMessage(trx, appPass, params.messageId)
        return { message: await applyEdit(trx, accessed, { body, content, blocks, mentions }, clock()) }
      })
    })

    app.delete('/apps/:botId/messages/:messageId', { schema: DeleteByApp, ...options }, async (request) => {
      await db.transaction().execute(async (trx) => {
        await applyDeletion(trx, await lockMessage(trx, request.appPass, request.params.messageId), clock())
      })
      return { success: true as const }
    })
  }

/** @throws ApiError 404 when the bot was removed or deactivated, or the channel was deleted. */
async function lockChannel(trx: Transaction, { botId, channelId }: AppPass): Promise<ChannelRow> {
  const bot = await trx
    .selectFrom('users')
    .select('id')
    .where('id', '=', botId)
    .where('isBot', '=', true)
    .where('removedAt', 'is', null)
    .where('deactivatedAt', 'is', null)
    .executeTakeFirst()
  const channel = bot && (await findChannel(trx, channelId, { lock: true }))
  if (!channel) throw notFound('channel')
  return channel
}

/** @throws ApiError 404 unless it is a message of the bot in this channel. */
async function lockMessage(trx: Transaction, pass: AppPass, messageId: string): Promise<AccessedMessage> {
  const channel = await lockChannel(trx, pass)
  const message = isRowId(messageId)
    ? await trx
        .selectFrom('messages')
        .selectAll()
        .where('id', '=', messageId)
        .where('channelId', '=', channel.id)
        .where('authorId', '=', pass.botId)
        .where('deletedAt', 'is', null)
        .forUpdate()
        .executeTakeFirst()
    : undefined
  if (!message) throw notFound('message')
  return { message, channel }
}
