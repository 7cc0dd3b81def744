import { createChannelMessages } from '@parley/client'
import type { Message, WireEvent } from '@parley/contract'

/** A channel that a client has built from its first event, without fetching anything. */
export interface ChannelCopy {
  /** Top-level messages, oldest first. */
  readonly messages: readonly Message[]
  /** Replies by parent, oldest first. Parents without replies are left out. */
  readonly threads: Record<string, readonly Message[]>
}

/** Applies an event. @throws when the event is not possible after the previous ones. */
export function copyFromEvents(events: readonly WireEvent[], channelId: string): ChannelCopy {
  const kept = createChannelMessages(channelId)
  // The reply at a time without data.
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
