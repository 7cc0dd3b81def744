import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessConversation, conversationRowId } from '@parley/access'
import {
  Conversation,
  HasMore,
  Id,
  IdempotencyHeaders,
  ListingQuery,
  limits,
  Message,
  notFound,
  Ok,
  ReadState,
  refusals,
  Timestamp,
} from '@parley/contract'
import { type Deps, sendJsonText } from '@parley/service'
import { Type } from 'typebox'
import { deleteMessage } from '../messages/message.deletion.ts'
import { editMessage } from '../messages/message.edit.ts'
import { readPage } from '../messages/message-pages.queries.ts'
import { MessageBody, PageQuery, pageEnds } from '../messages/messages.schema.ts'
import { openConversation } from './conversation.creation.ts'
import { findListedConversation, listConversations } from './conversations.queries.ts'

const ListedConversation = Type.Object({
  ...Conversation.properties,
  lastMessageAt: { ...Timestamp, description: 'When it began, as long as it has no messages' },
  ...ReadState.properties,
})

const ListConversations = {
  summary: 'The caller’s direct conversations, those with the newest messages first',
  description:
    'Pages have them in the order in which they began, the newest first: that does not change between pages.',
  querystring: ListingQuery(limits.pageSize),
  response: {
    200: Type.Object({
      conversations: Type.Array(ListedConversation),
      hasMore: HasMore,
    }),
    ...refusals(400, 401),
  },
}

const GetConversation = {
  summary: 'One conversation, as it stands in the listing',
  description: 'For its participants.',
  params: Type.Object({ conversationId: Id }),
  response: { 200: Type.Object({ conversation: ListedConversation }), ...refusals(401, 403, 404) },
}

const OpenConversation = {
  summary: 'The direct conversation with somebody, created if there is none yet',
  headers: IdempotencyHeaders,
  body: Type.Object({ targetUserId: Id }),
  response: {
    200: Type.Object({ conversation: Conversation, isNew: Type.Boolean() }),
    ...refusals(400, 401, 409),
  },
}

const ListDirectMessages = {
  summary: 'Messages of a conversation, oldest first',
  description:
    'For its participants. The newest ones, or those at the place that `before`, `after`, `around` or `aroundSeq` names.',
  params: Type.Object({ conversationId: Id }),
  querystring: PageQuery,
  response: { 200: Type.Object({ messages: Type.Array(Message), ...pageEnds }), ...refusals(400, 401, 403, 404) },
}

const DirectMessageParams = Type.Object({ conversationId: Id, messageId: Id })

const EditDirectMessage = {
  summary: 'Edit a direct message',
  description: 'For its author. Attachments, images and the quote stay unless given.',
  params: DirectMessageParams,
  body: MessageBody,
  response: { 200: Type.Object({ message: Message }), ...refusals(400, 401, 403, 404) },
}

const DeleteDirectMessage = {
  summary: 'Delete a direct message',
  description: 'For its author.',
  params: DirectMessageParams,
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

/** Sending is among the routes of `sending/`: a direct message is stored by the same statement as any other. */
export const conversationRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/conversations', { schema: ListConversations }, async ({ caller, query }, reply) =>
      sendJsonText(reply, await listConversations(db, caller.userId, query)),
    )

    app.get('/conversations/:conversationId', { schema: GetConversation }, async ({ caller, params }) => {
      const { id } = await accessConversation(db, caller, params.conversationId)
      return { conversation: await findListedConversation(db, caller.userId, id) }
    })

    app.post('/conversations', { schema: OpenConversation }, async ({ caller, headers, body }) =>
      openConversation(db, caller, body.targetUserId, clock(), headers['idempotency-key']),
    )

    const messages = '/conversations/:conversationId/messages'
    app.get(messages, { schema: ListDirectMessages }, async ({ caller, params, query }) => {
      const conversation = await accessConversation(db, caller, params.conversationId)
      return readPage(db, { channelId: conversation.id }, query)
    })

    app.put(`${messages}/:messageId`, { schema: EditDirectMessage }, async ({ caller, params, body }) => ({
      message: await editMessage(db, caller, params.messageId, body, clock(), placeOf(params)),
    }))

    app.delete(`${messages}/:messageId`, { schema: DeleteDirectMessage }, async ({ caller, ip, params }) => {
      await deleteMessage(db, { caller, ip, now: clock() }, params.messageId, placeOf(params))
      return { success: true as const }
    })
  }

function placeOf({ conversationId }: { conversationId: string }) {
  const channelId = conversationRowId(conversationId)
  if (channelId === null) throw notFound('conversation')
  return { channelId }
}
