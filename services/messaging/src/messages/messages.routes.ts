import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel } from '@parley/access'
import { Id, limits, Message, Ok, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { deleteMessage } from './message.deletion.ts'
import { editMessage } from './message.edit.ts'
import { MessageBody, MessageParams, PageQuery } from './message.fields.ts'
import { findCursor, listMessages } from './messages.queries.ts'

const ListMessages = {
  summary: 'Messages of a channel, oldest first',
  description: 'The newest ones, or with `before` those just before that message. Thread replies are not among them.',
  params: Type.Object({ channelId: Id }),
  querystring: PageQuery,
  response: { 200: Type.Object({ messages: Type.Array(Message) }), ...refusals(400, 401, 403, 404) },
}

const EditMessage = {
  summary: 'Edit a message',
  description: 'For its author. Attachments, images and the quote stay unless given.',
  params: MessageParams,
  body: MessageBody,
  response: { 200: Type.Object({ message: Message }), ...refusals(400, 401, 403, 404) },
}

const DeleteMessage = {
  summary: 'Delete a message, and its replies with it',
  description: 'For its author and admins; a direct message for its author only.',
  params: MessageParams,
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

export const messageRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/channels/:channelId/messages', { schema: ListMessages }, async ({ caller, params, query }) => {
      const channel = await accessChannel(db, caller, params.channelId)
      const beforeSeq =
        query.before === undefined ? undefined : await findCursor(db, { channelId: channel.id }, query.before)
      const limit = Math.min(query.limit, limits.pageSize)
      return { messages: await listMessages(db, channel.id, { limit, beforeSeq }) }
    })

    app.put('/messages/:messageId', { schema: EditMessage }, async ({ caller, params, body }) => ({
      message: await editMessage(db, caller, params.messageId, body, clock()),
    }))

    app.delete('/messages/:messageId', { schema: DeleteMessage }, async ({ caller, ip, params }) => {
      await deleteMessage(db, { caller, ip, now: clock() }, params.messageId)
      return { success: true as const }
    })
  }
