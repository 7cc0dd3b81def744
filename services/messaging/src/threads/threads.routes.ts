import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessParent } from '@parley/access'
import { Id, IdempotencyHeaders, Message, Ok, ParentRev, refusals, ThreadMeta, ThreadReadState } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import type { Caller } from '@parley/identity'
import { createTurns, type Deps } from '@parley/service'
import { type Static, Type } from 'typebox'
import { findThreadReadState } from '../follows/follows.queries.ts'
import { followReply } from '../follows/reply-counts.ts'
import { findMentions } from '../mentions/mentions.ts'
import { claimOfMessage, nonceOf, readNewTextAndBlocks } from '../message-body.ts'
import { deleteMessage, editMessage } from '../messages/message-changes.ts'
import { readPage } from '../messages/message-pages.queries.ts'
import { quoteOf, requireQuotable } from '../messages/quotes.ts'
import { MessageBody, MessageParams, NewMessageBody, PageQuery, pageEnds } from '../messages.schema.ts'
import { joinToPost } from '../sending/joining.ts'
import { postOnce, storeMessage } from '../sending/store-message.ts'
import { putUploads } from '../uploads/message-uploads.ts'

const ListReplies = {
  summary: 'List replies to a channel message, oldest first',
  description: 'The newest replies, or those next to the reply of `before`, `after`, `around` or `aroundSeq`.',
  params: MessageParams,
  querystring: PageQuery,
  response: {
    200: Type.Object({
      replies: Type.Array(Message),
      ...pageEnds,
      readSeq: Type.Optional(ThreadReadState.properties.readSeq),
      isFollowing: Type.Optional(ThreadReadState.properties.isFollowing),
    }),
    ...refusals(400, 401, 403, 404),
  },
}

const CreatedReply = Type.Object({ reply: Message, threadMeta: ThreadMeta, parentRev: ParentRev })
type CreatedReply = Static<typeof CreatedReply>

const CreateReply = {
  summary: 'Reply to a channel message',
  description:
    'A reply in a public channel makes its author a member. It is safe to repeat the request with the same `Idempotency-Key`: within 24 ' +
    'hours it gets the first reply again.',
  params: MessageParams,
  headers: IdempotencyHeaders,
  body: NewMessageBody,
  response: {
    200: CreatedReply,
    ...refusals(400, 401, 403, 404, 409),
  },
}

const ReplyParams = Type.Object({ messageId: Id, replyId: Id })

const EditReply = {
  summary: 'Edit a reply',
  description: 'For its author. A missing field `attachments`, `images` or `quotedMessageId` stays as it is.',
  params: ReplyParams,
  body: MessageBody,
  response: { 200: Type.Object({ message: Message }), ...refusals(400, 401, 403, 404) },
}

const DeleteReply = {
  summary: 'Delete a reply',
  description: 'For its author and for admins.',
  params: ReplyParams,
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

export const threadRoutes =
  (deps: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, clock } = deps
    const thread = '/messages/:messageId/thread'
    const inTurn = createTurns()

    app.get(thread, { schema: ListReplies }, async ({ caller, params, query }) => {
      const { message: parent, channel } = await accessParent(db, caller, params.messageId)
      const { messages: replies, ...ends } = await readPage(db, { channelId: channel.id, threadId: parent.id }, query)
      const { readSeq, isFollowing } = await findThreadReadState(db, caller.userId, parent)
      return { replies, ...ends, readSeq, isFollowing }
    })

    app.post(thread, { schema: CreateReply }, async ({ caller, params, headers, body }) =>
      inTurn(params.messageId, () =>
        createReply(deps, { caller, parentId: params.messageId, body, key: headers['idempotency-key'] }),
      ),
    )

    app.put(`${thread}/:replyId`, { schema: EditReply }, async ({ caller, params, body }) => ({
      message: await editMessage(
        db,
        { caller, now: clock() },
        { messageId: params.replyId, threadId: params.messageId },
        body,
      ),
    }))

    app.delete(`${thread}/:replyId`, { schema: DeleteReply }, async ({ caller, ip, params }) => {
      await deleteMessage(db, { caller, ip, now: clock() }, { messageId: params.replyId, threadId: params.messageId })
      return { success: true as const }
    })
  }

interface ReplyRequest {
  caller: Caller
  parentId: string
  body: NewMessageBody
  /** `Idempotency-Key` */
  key: string | undefined
}

/**
 * Stores a reply to a channel message, and records its event. The lock of the channel protects the thread too: `seq`
 * and the summary of the parent are exact even when many people reply at once.
 */
async function createReply(deps: Deps, { caller, parentId, body, key }: ReplyRequest): Promise<CreatedReply> {
  const { content, blocks } = readNewTextAndBlocks(body)
  const mentions = await findMentions(deps.db, content, caller.userId)
  const quotedMessageId = quoteOf(body)
  const now = deps.clock()
  const claim = claimOfMessage({ userId: caller.userId, key, where: `reply to ${parentId}` }, body)
  const response = await postOnce(deps, claim, now, async (trx) => {
    await joinToPost(trx, { ...deps, caller, now }, { parentId })
    const { message: parent, channel } = await accessParent(trx, caller, parentId, { lock: true })
    if (quotedMessageId !== null) await requireQuotable(trx, channel, quotedMessageId)
    const id = uuidv7()
    const files = await putUploads(trx, { id, channelId: channel.id, authorId: caller.userId }, body)
    const reply = { content, mentions, quotedMessageId, nonce: nonceOf(body), ...files, blocks }
    const stored = await storeMessage(trx, channel, {
      ...reply,
      id,
      author: caller,
      parentId: parent.id,
      createdAt: now,
    })
    const { seq } = stored
    await followReply(trx, channel, { parentId: parent.id, seq, createdAt: now, authorId: caller.userId, mentions })
    return stored
  })
  // Replies that an earlier version stored have no parentRev. 0 is older than the rev of any client.
  return { parentRev: 0, ...JSON.parse(response) }
}
