import type { Message, WireEvent } from '@parley/contract'

/** A channel as a client keeps it that saw it from its beginning and knows nothing but the events. */
export interface ChannelCopy {
  /** Top-level messages, oldest first. */
  readonly messages: Message[]
  /** Replies by parent, oldest first; parents without any are left out. */
  readonly threads: Record<string, Message[]>
}

export function copyFromEvents(events: readonly WireEvent[], channelId: string): ChannelCopy {
  const messages = new Map<string, Message>()
  for (const event of events) {
    if ('channelId' in event.payload && event.payload.channelId === channelId) apply(messages, event)
  }
  const all = [...messages.values()].toSorted((one, other) => one.seq - other.seq)
  return {
    messages: all.filter(({ threadId }) => threadId === null),
    threads: Object.groupBy(
      all.filter(({ threadId }) => threadId !== null),
      ({ threadId }) => threadId!,
    ) as Record<string, Message[]>,
  }
}

function apply(messages: Map<string, Message>, event: WireEvent) {
  switch (event.type) {
    case 'NEW_MESSAGE':
    case 'UPDATE_MESSAGE':
      messages.set(event.payload.id, event.payload)
      return
    case 'DELETE_MESSAGE':
      for (const { id, threadId } of messages.values()) {
        if (id === event.payload.id || threadId === event.payload.id) messages.delete(id)
      }
      return
    case 'NEW_THREAD_REPLY': {
      const { reply, parentMessageId, threadMeta, parentRev } = event.payload
      messages.set(reply.id, reply)
      messages.set(parentMessageId, { ...messages.get(parentMessageId)!, threadMeta, rev: parentRev })
      return
    }
    case 'UPDATE_THREAD_REPLY': {
      const { parentMessageId: _, parentRev: __, ...reply } = event.payload
      messages.set(reply.id, { ...reply, threadMeta: null })
      return
    }
    case 'DELETE_THREAD_REPLY': {
      const { id, threadId, threadMeta, parentRev } = event.payload
      messages.delete(id)
      messages.set(threadId, { ...messages.get(threadId)!, threadMeta, rev: parentRev })
      return
    }
    case 'NEW_REACTION':
    case 'DELETE_REACTION': {
      const { messageId, reaction, userId } = event.payload
      const message = messages.get(messageId)!
      const held = (message.reactions[reaction] ?? []).filter((id) => id !== userId)
      const { [reaction]: _, ...others } = message.reactions
      const people = event.type === 'NEW_REACTION' ? [...held, userId] : held
      const reactions = people.length === 0 ? others : { ...others, [reaction]: people }
      messages.set(messageId, { ...message, reactions, rev: message.rev + 1 })
    }
  }
}
