import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel, accessConversation, wireChannelId } from '@parley/access'
import { Id, Ok, refusals } from '@parley/contract'
import type { ChannelRow } from '@parley/database'
import type { Caller } from '@parley/identity'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { messageAudience } from '../messages/messages.events.ts'
import { createPace } from './typing-pace.ts'

/** Clients repeat themselves every few seconds, and show it a little longer than that. */
const pauseMs = 2_000

const shape = {
  description:
    'Repeat it every few seconds while it lasts: the event (TYPING) is never stored and may get lost. More often than ' +
    'every two seconds changes nothing.',
  response: { 200: Ok, ...refusals(401, 403, 404) },
}
const TypeInChannel = { summary: 'Tell a channel that one is typing', params: Type.Object({ channelId: Id }), ...shape }
const TypeInConversation = {
  summary: 'Tell the other one of a conversation that one is typing',
  params: Type.Object({ conversationId: Id }),
  ...shape,
}

export const typingRoutes =
  ({ db, clock, publishEphemeral }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const mayTell = createPace(pauseMs)

    app.put('/channels/:channelId/typing', { schema: TypeInChannel }, async ({ caller, params }) =>
      tellTyping(caller, await accessChannel(db, caller, params.channelId)),
    )

    const route = { schema: TypeInConversation }
    app.put('/conversations/:conversationId/typing', route, async ({ caller, params }) =>
      tellTyping(caller, await accessConversation(db, caller, params.conversationId)),
    )

    async function tellTyping({ userId, userName }: Caller, channel: ChannelRow) {
      // Whoever may read the channel only now has not been told yet.
      const key = `${userId} ${channel.id} ${channel.membersVersion}`
      if (!mayTell(key, clock())) return { success: true as const }

      const payload = { channelId: wireChannelId(channel), userId, userName }
      publishEphemeral({ type: 'TYPING', payload, routing: await messageAudience(db, channel) })
      return { success: true as const }
    }
  }
