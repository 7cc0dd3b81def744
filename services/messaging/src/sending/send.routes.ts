import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel, accessConversation, conversationRowId, requireRecipient, wireChannelId } from '@parley/access'
import { Id, IdempotencyHeaders, Message, type MessageBlock, refusals } from '@parley/contract'
import { type ChannelRow, type RequestKey, type Transaction, uuidv7 } from '@parley/database'
import { type Caller, findCaller } from '@parley/identity'
import { asRefusal, createTurns, type Deps, sendJsonText } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { findMentions } from '../mentions/mentions.ts'
import { claimOfMessage, nonceOf, readNewTextAndBlocks } from '../message-body.ts'
import { quoteOf, requireQuotable } from '../messages/quotes.ts'
import { NewMessageBody } from '../messages.schema.ts'
import { hasFiles, putUploads } from '../uploads/message-uploads.ts'
import { joinToPost } from './joining.ts'
import type { Sender } from './sender.ts'
import type { SendRequest } from './sending.ts'
import { postOnce, storeMessage } from './store-message.ts'

const shape = {
  headers: IdempotencyHeaders,
  body: NewMessageBody,
  response: { 200: Type.Object({ message: Message }), ...refusals(400, 401, 403, 404, 409, 503) },
}
const repeatable = 'Safe to repeat with the same `Idempotency-Key`: within 24 hours it gets the first response again.'
const SendMessage = {
  summary: 'Send a message',
  description: `Whoever posts to a public channel joins it. ${repeatable}`,
  params: Type.Object({ channelId: Id }),
  ...shape,
}
const SendDirectMessage = {
  summary: 'Send a direct message',
  description: repeatable,
  params: Type.Object({ conversationId: Id }),
  ...shape,
}

export const sendRoutes =
  (deps: Deps, sender: Sender): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, clock } = deps
    const inTurn = createTurns()
    // The send statement checks the session, together with everything else.
    const config = { access: 'token' } as const
    // As on all other routes, an ended session is a 401 even when the request is invalid.
    const errorHandler = async (error: Error, { claims }: FastifyRequest) => {
      if (claims && asRefusal(error).status === 400) await findCaller(db, claims, clock())
      throw error
    }

    app.post('/channels/:channelId/messages', { schema: SendMessage, config, errorHandler }, async (request, reply) => {
      const target = { kind: 'channel', channelId: request.params.channelId } as const
      return sendJsonText(reply, `{"message":${await send(request, target)}}`)
    })

    const route = { schema: SendDirectMessage, config, errorHandler }
    app.post('/conversations/:conversationId/messages', route, async (request, reply) => {
      const target = {
        kind: 'conversation',
        channelId: conversationRowId(request.params.conversationId) ?? '',
      } as const
      return sendJsonText(reply, `{"message":${await send(request, target)}}`)
    })

    /** Returns the JSON text of the Message, which the event and the stored response contain too. */
    async function send(
      { claims, headers, body }: SendCall,
      target: Pick<SendRequest, 'kind' | 'channelId'>,
    ): Promise<string> {
      const { content, blocks } = readNewTextAndBlocks(body)
      const mentions = await findMentions(db, content, claims.userId)
      const key = headers['idempotency-key']
      const idempotency = claimOfMessage({ userId: claims.userId, key, where: target.channelId }, body)
      const message = { content, mentions, quotedMessageId: quoteOf(body), nonce: nonceOf(body) }
      const wanted: SendRequest = { ...target, ...message, caller: claims, idempotency }
      if (!hasFiles(body) && blocks.length === 0) return sender.send(wanted)
      return inTurn(target.channelId, () => sendWithFiles(deps, wanted, body, blocks))
    }
  }

interface SendCall extends Pick<FastifyRequest, 'claims'> {
  headers: Static<typeof IdempotencyHeaders>
  body: NewMessageBody
}

/**
 * Sends a message that has attachments, images or blocks. It needs a separate transaction, because it locks the uploads too. It takes
 * locks in the same order as the shared statement, and refuses the same requests. Returns the JSON text of the Message.
 */
async function sendWithFiles(
  deps: Deps,
  request: SendRequest,
  body: NewMessageBody,
  blocks: readonly MessageBlock[],
): Promise<string> {
  const { quotedMessageId, idempotency } = request
  const now = deps.clock()
  const caller = await findCaller(deps.db, request.caller, now)
  const claim: RequestKey | null = idempotency && { userId: caller.userId, ...idempotency }

  return postOnce(deps, claim, now, async (trx) => {
    if (request.kind === 'channel') await joinToPost(trx, { ...deps, caller, now }, request)
    const channel = await accessTarget(trx, caller, request)
    if (quotedMessageId !== null) await requireQuotable(trx, channel, quotedMessageId)
    const id = uuidv7()
    const files = await putUploads(trx, { id, channelId: channel.id, authorId: caller.userId }, body)
    return storeMessage(trx, channel, { ...request, ...files, blocks, id, author: caller, createdAt: now })
  })
}

async function accessTarget(trx: Transaction, caller: Caller, { kind, channelId }: SendRequest): Promise<ChannelRow> {
  if (kind === 'channel') return accessChannel(trx, caller, channelId, { lock: true })
  const conversationId = wireChannelId({ id: channelId, kind: 'direct' })
  const conversation = await accessConversation(trx, caller, conversationId, { lock: true })
  await requireRecipient(trx, conversation)
  return conversation
}
