import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Id, IdempotencyHeaders, Message, Ok, ParentRev, refusals, ThreadMeta } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { deleteMessage } from '../messages/message.deletion.ts'
import { editMessage } from '../messages/message.edit.ts'
import { readPage } from '../messages/message-pages.queries.ts'
import { MessageBody, MessageParams, NewMessageBody, PageQuery, pageEnds } from '../messages/messages.schema.ts'
import { accessParent, createReply } from './reply.creation.ts'

const ListReplies = {
  summary: 'Replies to a channel message, oldest first',
  description: 'The newest ones, or those at the place that `before`, `after`, `around` or `aroundSeq` names.',
  params: MessageParams,
  querystring: PageQuery,
  response: { 200: Type.Object({ replies: Type.Array(Message), ...pageEnds }), ...refusals(400, 401, 403, 404) },
}

const CreateReply = {
  summary: 'Reply to a channel message',
  description: 'Safe to repeat with the same `Idempotency-Key`: within 24 hours it gets the first answer again.',
  params: MessageParams,
  headers: IdempotencyHeaders,
  body: NewMessageBody,
  response: {
    200: Type.Object({ reply: Message, threadMeta: ThreadMeta, parentRev: ParentRev }),
    ...refusals(400, 401, 403, 404, 409),
  },
}

const ReplyParams = Type.Object({ messageId: Id, replyId: Id })

const EditReply = {
  summary: 'Edit a reply',
  description: 'For its author. Attachments, images and the quote stay unless given.',
  params: ReplyParams,
  body: MessageBody,
  response: { 200: Type.Object({ message: Message }), ...refusals(400, 401, 403, 404) },
}

const DeleteReply = {
  summary: 'Delete a reply',
  description: 'For its author and admins.',
  params: ReplyParams,
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

export const threadRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const thread = '/messages/:messageId/thread'

    app.get(thread, { schema: ListReplies }, async ({ caller, params, query }) => {
      const { message: parent, channel } = await accessParent(db, caller, params.messageId)
      const { messages: replies, ...ends } = await readPage(db, { channelId: channel.id, threadId: parent.id }, query)
      return { replies, ...ends }
    })

    app.post(thread, { schema: CreateReply }, async ({ caller, params, headers, body }) => {
      const key = headers['idempotency-key']
      return createReply(db, { caller, parentId: params.messageId, body, key, now: clock() })
    })

    app.put(`${thread}/:replyId`, { schema: EditReply }, async ({ caller, params, body }) => ({
      message: await editMessage(db, caller, params.replyId, body, clock(), { threadId: params.messageId }),
    }))

    app.delete(`${thread}/:replyId`, { schema: DeleteReply }, async ({ caller, ip, params }) => {
      const place = { threadId: params.messageId }
      await deleteMessage(db, { caller, ip, now: clock() }, params.replyId, place)
      return { success: true as const }
    })
  }
