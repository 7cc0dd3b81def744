import { createPlace } from '@parley/client'
import type { Message, WireEvent } from '@parley/contract'

/** A channel as the client keeps it that saw it from its beginning and fetched nothing. */
export interface ChannelCopy {
  /** Top-level messages, oldest first. */
  readonly messages: Message[]
  /** Replies by parent, oldest first; parents without any are left out. */
  readonly threads: Record<string, Message[]>
}

/** @throws when an event is one that cannot come next after those before it. */
export function copyFromEvents(events: readonly WireEvent[], channelId: string): ChannelCopy {
  const place = createPlace(channelId)
  place.want('newest')
  // What was answered when there was nothing yet.
  place.merge({ newest: { messages: [], limit: 1 } })
  for (const event of events) {
    if (!('channelId' in event.payload) || event.payload.channelId !== channelId) continue
    if (event.type === 'NEW_MESSAGE') {
      const parentId = event.payload.id
      place.want({ thread: parentId })
      place.merge({ threads: [{ parentId, replies: [], limit: 1 }] })
    }
    if (!place.apply(event)) throw new Error(`a change is missing before ${JSON.stringify(event)}`)
  }
  const messages = place.newest()
  const threads = messages.map(({ id }) => [id, place.replies(id)] as const)
  return { messages, threads: Object.fromEntries(threads.filter(([, replies]) => replies.length > 0)) }
}
