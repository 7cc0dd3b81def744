import { createChannelMessages } from '@parley/client'
import type { Message, WireEvent } from '@parley/contract'

/** A channel as the client keeps it that saw it from its beginning and fetched nothing. */
export interface ChannelCopy {
  /** Top-level messages, oldest first. */
  readonly messages: readonly Message[]
  /** Replies by parent, oldest first; parents without any are left out. */
  readonly threads: Record<string, readonly Message[]>
}

/** @throws when an event is one that cannot come next after those before it. */
export function copyFromEvents(events: readonly WireEvent[], channelId: string): ChannelCopy {
  const kept = createChannelMessages(channelId)
  // What was answered when there was nothing yet.
  const nothing = { anchor: 'newest' as const, messages: [], hasOlder: false, hasNewer: false }
  kept.want('newest')
  kept.merge({ pages: [nothing] })
  for (const event of events) {
    if (!('channelId' in event.payload) || event.payload.channelId !== channelId) continue
    if (event.type === 'NEW_MESSAGE') {
      const parentId = event.payload.id
      kept.want('newest', parentId)
      kept.merge({ pages: [{ ...nothing, parentId }] })
    }
    if (!kept.apply(event)) throw new Error(`a change is missing before ${JSON.stringify(event)}`)
  }
  const messages = kept.timeline()?.messages() ?? []
  const threads = messages.map(({ id }) => [id, kept.timeline(id)?.messages() ?? []] as const)
  return { messages, threads: Object.fromEntries(threads.filter(([, replies]) => replies.length > 0)) }
}
