import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { conversationRowId } from '@parley/access'
import { Id, IdempotencyHeaders, Message, refusals } from '@parley/contract'
import { type AccessClaims, findCaller } from '@parley/identity'
import { asRefusal, type Deps, sendJsonText } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { findMentions } from '../mentions/mentions.ts'
import { NewMessageBody, nonceOf, quoteOf, readContent } from '../messages/messages.schema.ts'
import { hasFiles } from '../uploads/message-uploads.ts'
import { requestHash } from './idempotency.ts'
import { sendWithFiles } from './send-with-files.ts'
import type { Sender } from './sender.ts'

const shape = {
  description: 'Safe to repeat with the same `Idempotency-Key`: within 24 hours it gets the first answer again.',
  headers: IdempotencyHeaders,
  body: NewMessageBody,
  response: { 200: Type.Object({ message: Message }), ...refusals(400, 401, 403, 404, 409, 503) },
}
const SendMessage = { summary: 'Send a message', params: Type.Object({ channelId: Id }), ...shape }
const SendDirectMessage = {
  summary: 'Send a direct message',
  params: Type.Object({ conversationId: Id }),
  ...shape,
}

export const sendRoutes =
  (deps: Deps, sender: Sender): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, clock } = deps
    // The session is checked by the send statement itself, along with everything else.
    const config = { access: 'token' } as const
    // What never gets there is refused for its session first, as everywhere.
    const errorHandler = async (error: Error, { claims }: FastifyRequest) => {
      if (claims && asRefusal(error).status === 400) await findCaller(db, claims, clock())
      throw error
    }

    app.post('/channels/:channelId/messages', { schema: SendMessage, config, errorHandler }, async (request, reply) => {
      const { claims, params, headers, body } = request
      const place = { kind: 'channel', channelId: params.channelId } as const
      return answer(reply, await sendMessage(deps, sender, claims, place, body, headers['idempotency-key']))
    })

    const route = { schema: SendDirectMessage, config, errorHandler }
    app.post('/conversations/:conversationId/messages', route, async (request, reply) => {
      const { claims, params, headers, body } = request
      const place = { kind: 'conversation', channelId: conversationRowId(params.conversationId) ?? '' } as const
      return answer(reply, await sendMessage(deps, sender, claims, place, body, headers['idempotency-key']))
    })
  }

/** The message is JSON already, the same that the event and the stored answer have. */
function answer(reply: FastifyReply, message: string): never {
  return sendJsonText(reply, `{"message":${message}}`)
}

/** Sends a message to a channel, or by its row id to a conversation; answers the JSON text of the Message. */
async function sendMessage(
  deps: Deps,
  sender: Sender,
  caller: AccessClaims,
  place: { kind: 'channel' | 'conversation'; channelId: string },
  body: NewMessageBody,
  key: string | undefined,
): Promise<string> {
  const content = readContent(body)
  const mentions = await findMentions(deps.db, content)
  const idempotency = key === undefined ? null : { key, requestHash: requestHash(place.channelId, body) }
  if (hasFiles(body)) return sendWithFiles(deps, { ...place, claims: caller, body, content, mentions, idempotency })
  return sender.send({
    ...place,
    caller,
    content,
    attachments: [],
    images: [],
    quotedMessageId: quoteOf(body),
    mentions,
    ...nonceOf(body),
    idempotency,
  })
}
