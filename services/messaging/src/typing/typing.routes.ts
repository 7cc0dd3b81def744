import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel, accessConversation, wireChannelId } from '@parley/access'
import { Id, Ok, refusals } from '@parley/contract'
import type { ChannelRow } from '@parley/database'
import type { Caller } from '@parley/identity'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { messageAudience } from '../messages/message.events.ts'

const shape = {
  description: 'Repeat it every few seconds while it lasts: the event (TYPING) is never stored and may get lost.',
  response: { 200: Ok, ...refusals(401, 403, 404) },
}
const TypeInChannel = { summary: 'Tell a channel that one is typing', params: Type.Object({ channelId: Id }), ...shape }
const TypeInConversation = {
  summary: 'Tell the other one of a conversation that one is typing',
  params: Type.Object({ conversationId: Id }),
  ...shape,
}

export const typingRoutes =
  ({ db, publishEphemeral }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.put('/channels/:channelId/typing', { schema: TypeInChannel }, async ({ caller, params }) =>
      tellTyping(caller, await accessChannel(db, caller, params.channelId)),
    )

    const route = { schema: TypeInConversation }
    app.put('/conversations/:conversationId/typing', route, async ({ caller, params }) =>
      tellTyping(caller, await accessConversation(db, caller, params.conversationId)),
    )

    async function tellTyping({ userId, userName }: Caller, channel: ChannelRow) {
      const payload = { channelId: wireChannelId(channel), userId, userName }
      publishEphemeral({ type: 'TYPING', payload, routing: await messageAudience(db, channel) })
      return { success: true as const }
    }
  }
