import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessPlace, type PlaceInPath, wireChannelId } from '@parley/access'
import { Id, Ok, refusals } from '@parley/contract'
import type { Caller } from '@parley/identity'
import { audienceOfPlace } from '@parley/messages'
import type { Deps } from '@parley/service'
import { LRUCache } from 'lru-cache'
import { Type } from 'typebox'

/** Clients repeat the request every few seconds, and show each typing indicator a little longer than that. */
const pauseMs = 2_000

const shape = {
  description:
    'Repeat it every few seconds while the person types: the event (TYPING) is never stored and may get lost. Repeating it more ' +
    'often than every two seconds has no effect.',
  response: { 200: Ok, ...refusals(401, 403, 404) },
}
const TypeInChannel = {
  summary: 'Tell a channel that the caller is typing',
  params: Type.Object({ channelId: Id }),
  ...shape,
}
const TypeInConversation = {
  summary: 'Tell the other participant of a conversation that the caller is typing',
  params: Type.Object({ conversationId: Id }),
  ...shape,
}

export const typingRoutes =
  ({ db, clock, publishEphemeral }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const isDue = createThrottle(pauseMs, 20_000)

    app.put('/channels/:channelId/typing', { schema: TypeInChannel }, ({ caller, params }) =>
      publishTyping(caller, params),
    )

    app.put('/conversations/:conversationId/typing', { schema: TypeInConversation }, ({ caller, params }) =>
      publishTyping(caller, params),
    )

    async function publishTyping(caller: Caller, place: PlaceInPath) {
      const channel = await accessPlace(db, caller, place)
      const { userId, userName } = caller
      // A new membership version means new readers, who have not got the event yet.
      const key = `${userId} ${channel.id} ${channel.membersVersion}`
      if (!isDue(key, clock())) return { success: true as const }

      const payload = { channelId: wireChannelId(channel), userId, userName }
      publishEphemeral({ type: 'TYPING', payload, routing: await audienceOfPlace(db, channel) })
      return { success: true as const }
    }
  }

/** Lets each key pass once in `periodMs`. It remembers `maxKeys` keys; an older key may pass again early. */
export function createThrottle(periodMs: number, maxKeys: number) {
  const passedAt = new LRUCache<string, number>({ max: maxKeys })

  return (key: string, now: number): boolean => {
    const before = passedAt.peek(key)
    if (before !== undefined && now - before < periodMs) return false
    passedAt.set(key, now)
    return true
  }
}
