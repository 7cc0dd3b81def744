import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel, accessMessage } from '@parley/access'
import { Id, Message, Ok, refusals } from '@parley/contract'
import { findMessage } from '@parley/messages'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { MessageBody, MessageParams, PageQuery, pageEnds } from '../messages.schema.ts'
import { deleteMessage, editMessage } from './message-changes.ts'
import { readPage } from './message-pages.queries.ts'

const ListMessages = {
  summary: 'List messages of a channel, oldest first',
  description:
    'The newest messages, or those next to the message of `before`, `after`, `around` or `aroundSeq`. Without thread replies.',
  params: Type.Object({ channelId: Id }),
  querystring: PageQuery,
  response: { 200: Type.Object({ messages: Type.Array(Message), ...pageEnds }), ...refusals(400, 401, 403, 404) },
}

const GetMessage = {
  summary: 'Get one message, reply or direct message',
  params: MessageParams,
  response: { 200: Type.Object({ message: Message }), ...refusals(401, 403, 404) },
}

const EditMessage = {
  summary: 'Edit a message',
  description: 'For its author. A missing field `attachments`, `images` or `quotedMessageId` stays as it is.',
  params: MessageParams,
  body: MessageBody,
  response: { 200: Type.Object({ message: Message }), ...refusals(400, 401, 403, 404) },
}

const DeleteMessage = {
  summary: 'Delete a message and its replies',
  description:
    'For its author and for admins. Only the author may delete a direct message, except that both participants may delete the answer of an app.',
  params: MessageParams,
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

export const messageRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/channels/:channelId/messages', { schema: ListMessages }, async ({ caller, params, query }) => {
      const channel = await accessChannel(db, caller, params.channelId)
      return readPage(db, { channelId: channel.id }, query)
    })

    app.get('/messages/:messageId', { schema: GetMessage }, async ({ caller, params }) => {
      const { message } = await accessMessage(db, caller, params.messageId)
      return { message: await findMessage(db, message.id) }
    })

    app.put('/messages/:messageId', { schema: EditMessage }, async ({ caller, params, body }) => ({
      message: await editMessage(db, { caller, now: clock() }, { messageId: params.messageId }, body),
    }))

    app.delete('/messages/:messageId', { schema: DeleteMessage }, async ({ caller, ip, params }) => {
      await deleteMessage(db, { caller, ip, now: clock() }, { messageId: params.messageId })
      return { success: true as const }
    })
  }
