import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { conversationRowId } from '@parley/access'
import { Id, IdempotencyHeaders, Message, refusals } from '@parley/contract'
import { findCaller } from '@parley/identity'
import { asRefusal, type Deps, sendJsonText } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { findMentions } from '../mentions/mentions.ts'
import { NewMessageBody, nonceOf, quoteOf, readShown, requestHash } from '../messages.schema.ts'
import { hasFiles } from '../uploads/message-uploads.ts'
import type { SendRequest } from './send-statement.ts'
import { sendWithFiles } from './send-with-files.ts'
import type { Sender } from './sender.ts'

const shape = {
  headers: IdempotencyHeaders,
  body: NewMessageBody,
  response: { 200: Type.Object({ message: Message }), ...refusals(400, 401, 403, 404, 409, 503) },
}
const repeatable = 'Safe to repeat with the same `Idempotency-Key`: within 24 hours it gets the first answer again.'
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

    /** Returns the JSON text of the Message, which the event and the stored answer contain too. */
    async function send(
      { claims, headers, body }: SendCall,
      target: Pick<SendRequest, 'kind' | 'channelId'>,
    ): Promise<string> {
      const { content, blocks } = readShown(body)
      const mentions = await findMentions(db, content, claims.userId)
      const key = headers['idempotency-key']
      const idempotency = key === undefined ? null : { key, requestHash: requestHash(target.channelId, body) }
      const message = { content, mentions, quotedMessageId: quoteOf(body), nonce: nonceOf(body) }
      const request: SendRequest = { ...target, ...message, caller: claims, idempotency }
      return hasFiles(body) || blocks.length > 0 ? sendWithFiles(deps, request, body, blocks) : sender.send(request)
    }
  }

interface SendCall extends Pick<FastifyRequest, 'claims'> {
  headers: Static<typeof IdempotencyHeaders>
  body: NewMessageBody
}
