import type { EventPayload, Message, WireEvent } from '@parley/contract'

/** A listing that is kept: everything from `fromSeq` on. */
interface Window {
  fromSeq: number
  isLoaded: boolean
}

/** What was answered for the views of a place. `null`: not asked for, or not there. */
export interface Fetched {
  newest?: { messages: Message[]; limit: number }
  /** What was said before that which is kept already. */
  older?: { messages: Message[]; limit: number }
  pins?: Message[]
  threads?: { parentId: string; replies: Message[]; limit: number }[]
}

export type Place = ReturnType<typeof createPlace>

/**
 * The messages of one channel or conversation that somebody looks at: the newest, the pinned, and some threads. Every change
 * of a message raises its `rev` by one and comes as one event, so an event is either known already (its `rev` is not higher),
 * or exactly what is next. An answer, and then once more all events since before it was asked for, make the copy what a
 * later answer would be.
 */
export function createPlace(channelId: string) {
  let messages = new Map<string, Message>()
  let version = 0
  let newest: Window | undefined
  let pins: { isLoaded: boolean } | undefined
  const threads = new Map<string, Window>()

  /** While a listing is on its way nobody knows what will be in it: everything is kept. */
  const isIn = (window: Window | undefined, seq: number) =>
    window !== undefined && (!window.isLoaded || seq >= window.fromSeq)

  const isWanted = ({ id, threadId, seq, pinnedAt }: Message) =>
    threadId === null
      ? isIn(newest, seq) || (pins !== undefined && pinnedAt !== null) || threads.has(id)
      : isIn(threads.get(threadId), seq)

  function put(message: Message) {
    const known = messages.get(message.id)
    if (known && known.rev >= message.rev) return
    if (isWanted(message)) messages.set(message.id, message)
    else messages.delete(message.id)
  }

  /** Answers false when a change in between is missing: then the place has to be fetched again. */
  function change(id: string, rev: number, changed: (message: Message) => Message): boolean {
    const known = messages.get(id)
    if (!known || known.rev >= rev) return true
    if (known.rev + 1 < rev) return false
    messages.set(id, { ...changed(known), rev })
    return true
  }

  function remove(id: string) {
    messages.delete(id)
    if (!threads.delete(id)) return
    for (const message of messages.values()) if (message.threadId === id) messages.delete(message.id)
  }

  function apply(event: WireEvent): boolean {
    switch (event.type) {
      case 'NEW_MESSAGE':
      case 'UPDATE_MESSAGE':
        put(event.payload)
        return true
      case 'NEW_DM_MESSAGE':
      case 'UPDATE_DM_MESSAGE': {
        const { participants: _, ...message } = event.payload
        put(message)
        return true
      }
      case 'DELETE_MESSAGE':
      case 'DELETE_DM_MESSAGE':
        remove(event.payload.id)
        return true
      case 'NEW_THREAD_REPLY': {
        const { reply, parentMessageId, threadMeta, parentRev } = event.payload
        put(reply)
        return change(parentMessageId, parentRev, (parent) => ({ ...parent, threadMeta }))
      }
      case 'UPDATE_THREAD_REPLY': {
        const { parentMessageId: _, parentRev: __, ...reply } = event.payload
        put({ ...reply, threadMeta: null })
        return true
      }
      case 'DELETE_THREAD_REPLY': {
        const { id, threadId, threadMeta, parentRev } = event.payload
        messages.delete(id)
        return change(threadId, parentRev, (parent) => ({ ...parent, threadMeta }))
      }
      case 'NEW_REACTION':
      case 'DELETE_REACTION':
        return change(event.payload.messageId, event.payload.rev, (message) => reacted(message, event))
      default:
        return true
    }
  }

  return {
    channelId,
    /** Grows when everything has to be fetched anew: what was asked for before is worth nothing then. */
    get version() {
      return version
    },
    apply,

    want(view: 'newest' | 'pins' | { thread: string }) {
      if (view === 'newest') newest ??= { fromSeq: 0, isLoaded: false }
      else if (view === 'pins') pins ??= { isLoaded: false }
      else if (!threads.has(view.thread)) threads.set(view.thread, { fromSeq: 0, isLoaded: false })
    },
    forgetThread(parentId: string) {
      if (!threads.delete(parentId)) return
      for (const message of messages.values()) if (!isWanted(message)) messages.delete(message.id)
    },
    /** What has to be asked for to have all that is wanted. */
    missing: () => ({
      newest: newest?.isLoaded === false,
      pins: pins?.isLoaded === false,
      threads: [...threads].filter(([, { isLoaded }]) => !isLoaded).map(([parentId]) => parentId),
    }),
    isLoaded: () =>
      newest?.isLoaded !== false && pins?.isLoaded !== false && [...threads.values()].every((each) => each.isLoaded),

    /** Nothing is known any more, but what is wanted is still wanted. */
    clear() {
      version++
      messages = new Map()
      for (const window of [newest, pins, ...threads.values()]) if (window) window.isLoaded = false
    },

    merge(fetched: Fetched) {
      const { newest: page, older } = fetched
      if (newest && page) newest = { fromSeq: beginOf(page.messages, page.limit), isLoaded: true }
      if (newest && older) newest.fromSeq = Math.min(newest.fromSeq, beginOf(older.messages, older.limit))
      if (pins && fetched.pins) pins.isLoaded = true
      for (const { parentId, replies, limit } of fetched.threads ?? []) {
        if (threads.has(parentId)) threads.set(parentId, { fromSeq: beginOf(replies, limit), isLoaded: true })
      }
      const threadReplies = (fetched.threads ?? []).flatMap(({ replies }) => replies)
      const all = [fetched.older?.messages, fetched.newest?.messages, fetched.pins, threadReplies]
      for (const message of all.flatMap((some) => some ?? [])) put(message)
      for (const message of messages.values()) if (!isWanted(message)) messages.delete(message.id)
    },

    /** Oldest first. */
    newest: () => bySeq([...messages.values()].filter(({ threadId, seq }) => threadId === null && isIn(newest, seq))),
    /** Newest pin first. */
    pins: () =>
      [...messages.values()]
        .filter(({ pinnedAt }) => pinnedAt !== null)
        .sort((one, next) => next.pinnedAt! - one.pinnedAt! || next.seq - one.seq),
    replies: (parentId: string) => bySeq([...messages.values()].filter(({ threadId }) => threadId === parentId)),
    /** Whether there may be more before the oldest one. */
    hasOlder: () => newest?.isLoaded === true && newest.fromSeq > 1,
  }
}

/** A page that is not full goes back to the beginning. */
const beginOf = (page: readonly Message[], limit: number) => (page.length < limit ? 0 : page[0]!.seq)

const bySeq = (messages: Message[]) => messages.sort((one, next) => one.seq - next.seq)

interface ReactionEvent {
  type: 'NEW_REACTION' | 'DELETE_REACTION'
  payload: EventPayload<'NEW_REACTION'>
}

/** People stand in the order in which they reacted. Names are anybody's choice, `__proto__` too. */
function reacted(message: Message, { type, payload: { reaction, userId } }: ReactionEvent): Message {
  const held = Object.hasOwn(message.reactions, reaction) ? message.reactions[reaction]! : []
  const others = held.filter((id) => id !== userId)
  const people = type === 'NEW_REACTION' ? [...others, userId] : others
  const { [reaction]: _, ...rest } = message.reactions
  return { ...message, reactions: people.length === 0 ? rest : { ...rest, [reaction]: people } }
}
