import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessMessage, wireChannelId } from '@parley/access'
import { invalid, lengthOf, limits, refusals } from '@parley/contract'
import { record } from '@parley/database'
import type { Caller } from '@parley/identity'
import { audienceOfMessage, findMessage } from '@parley/messages'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { ChangedMessage, MessageParams } from '../messages.schema.ts'
import { deleteReaction, exceedsReactionLimit, insertReaction, raiseRev } from './reactions.queries.ts'

const shape = {
  params: MessageParams,
  body: Type.Object({
    reaction: Type.String({ description: `1–${limits.reaction} characters, without spaces at both ends` }),
  }),
  response: { 200: ChangedMessage, ...refusals(400, 401, 403, 404) },
}
const addDescription =
  'Idempotent. A message has at most `messages.maxReactions` different reactions (default: 50); one more is ' +
  'refused with 400.'
const AddReaction = { summary: 'React to a message', description: addDescription, ...shape }
const RemoveReaction = { summary: 'Remove a reaction', ...shape }

export const reactionRoutes =
  (deps: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post('/messages/:messageId/reactions', { schema: AddReaction }, ({ caller, params, body }) =>
      changeReaction(deps, caller, { ...params, reaction: readReaction(body.reaction), type: 'NEW_REACTION' }),
    )

    app.delete('/messages/:messageId/reactions', { schema: RemoveReaction }, ({ caller, params, body }) =>
      changeReaction(deps, caller, { ...params, reaction: readReaction(body.reaction), type: 'DELETE_REACTION' }),
    )
  }

interface ReactionChange {
  messageId: string
  reaction: string
  type: 'NEW_REACTION' | 'DELETE_REACTION'
}

/**
 * Adds or removes a reaction. Idempotent: without a change there is no event.
 * @throws ApiError 400 when the message already has the maximum number of different reactions.
 */
function changeReaction(
  { db, config }: Deps,
  caller: Caller,
  { messageId, reaction, type }: ReactionChange,
): Promise<ChangedMessage> {
  return db.transaction().execute(async (trx) => {
    const { message, channel } = await accessMessage(trx, caller, messageId, { lock: true })

    const key = { messageId: message.id, reaction, userId: caller.userId }
    const most = config.messages.maxReactions
    if (type === 'NEW_REACTION' && (await exceedsReactionLimit(trx, key, most))) {
      throw invalid(`A message can have at most ${most} different reactions`)
    }
    const isChanged = type === 'NEW_REACTION' ? await insertReaction(trx, key) : await deleteReaction(trx, key)
    if (isChanged) {
      const rev = await raiseRev(trx, message.id)
      const payload = { ...key, channelId: wireChannelId(channel), rev }
      await record(trx, { type, payload, routing: await audienceOfMessage(trx, channel, message) })
    }

    return { message: await findMessage(trx, message.id), isChanged }
  })
}

function readReaction(text: string): string {
  const reaction = text.trim().toWellFormed()
  if (reaction === '') throw invalid('reaction must not be empty')
  if (lengthOf(reaction) > limits.reaction) throw invalid(`reaction is longer than ${limits.reaction} characters`)
  return reaction
}
