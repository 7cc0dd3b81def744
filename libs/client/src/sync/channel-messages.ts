import type { EventPayload, Message, WireEvent } from '@parley/contract'
import { type Changes, createChanges } from '../store/changes.ts'
import { type Anchor, type AnchoredTimeline, createAnchoredTimeline, type FetchedPage } from './anchored-timeline.ts'
import type { WithCurrentName } from './people.ts'

/** The responses to the requests for one channel. */
export interface Fetched {
  pages?: FetchedPage[]
  pins?: Message[]
  /** Parents of threads. */
  parents?: Message[]
}

export type ChannelMessages = ReturnType<typeof createChannelMessages>

/**
 * The messages of one channel or conversation that somebody looks at: parts of its timeline, pinned messages, and threads. Every
 * change of a message increases its `rev` by one and comes as one event. So an event is either known already (its `rev` is not higher),
 * or it is the next change. A response becomes up to date when all events since its request are applied to it.
 */
export function createChannelMessages(
  channelId: string,
  changes: Changes = createChanges(),
  withCurrentName: WithCurrentName = (person) => person,
) {
  const messages = new Map<string, Message>()
  const top = createAnchoredTimeline(() => {
    changes.touch(`messages:${channelId}`)
    // Only the timeline of the channel is stored, not its threads.
    changes.markUnsaved('pages', channelId)
  })
  const threads = new Map<string, AnchoredTimeline>()
  let arePinsWanted = false
  let arePinsLoaded = false
  let pinList: readonly Message[] | undefined
  let version = 0

  const timelineOf = (parentId: string | null | undefined) => (parentId ? threads.get(parentId) : top)
  const timelines = () => [top, ...threads.values()]

  const isWanted = ({ id, threadId, seq, pinnedAt }: Message) =>
    timelineOf(threadId)?.isLoaded(seq) === true ||
    (threadId === null && ((arePinsWanted && pinnedAt !== null) || threads.has(id)))

  /** The message with the current names of people, and without the sender's nonce. */
  function withCurrentNames({ nonce: _, ...message }: Message): Message {
    const { author, threadMeta } = message
    const lastReplyBy = threadMeta && withCurrentName(threadMeta.lastReplyBy)
    if (withCurrentName(author) === author && lastReplyBy === (threadMeta?.lastReplyBy ?? null)) return message
    return {
      ...message,
      author: withCurrentName(author),
      threadMeta: threadMeta && { ...threadMeta, lastReplyBy: lastReplyBy! },
    }
  }

  /** Sets the current version of a message, and says what has changed. */
  function setMessage(message: Message) {
    const known = messages.get(message.id)
    messages.set(message.id, message)
    timelineOf(message.threadId)?.put(message)
    if (known) changes.touch(`message:${message.id}`)
    if (message.threadId === null) changes.markUnsaved('pages', channelId)
    if ((known?.pinnedAt ?? null) !== null || message.pinnedAt !== null) touchPins()
  }

  function touchPins() {
    pinList = undefined
    changes.touch(`pins:${channelId}`)
  }

  function forgetMessage(id: string) {
    const known = messages.get(id)
    if (!known) return
    messages.delete(id)
    timelineOf(known.threadId)?.remove(known.seq)
    if (known.pinnedAt !== null) touchPins()
    changes.touch(`message:${id}`)
  }

  /** Takes a message from a response or an event, unless a newer version is known or nobody wants it. */
  function put(message: Message) {
    const known = messages.get(message.id)
    if (known && known.rev >= message.rev) {
      // The message was known as a pinned message or as the parent of a thread. Now the loaded range contains it too.
      timelineOf(known.threadId)?.put(known)
      return
    }
    if (isWanted(message)) setMessage(withCurrentNames(message))
    else forgetMessage(message.id)
  }

  /** Applies a change to a message. Returns false when an earlier change is missing. */
  function change(id: string, rev: number, changed: (message: Message) => Message): boolean {
    const known = messages.get(id)
    if (!known || known.rev >= rev) return true
    if (known.rev + 1 < rev) return false
    setMessage({ ...changed(known), rev })
    return true
  }

  function forgetThread(parentId: string) {
    const timeline = threads.get(parentId)
    if (!threads.delete(parentId)) return
    for (const { id } of timeline!.all()) messages.delete(id)
    changes.touch(`thread:${parentId}`)
    const parent = messages.get(parentId)
    if (parent && !isWanted(parent)) forgetMessage(parentId)
  }

  const withMeta = (threadMeta: Message['threadMeta']) => (parent: Message) =>
    withCurrentNames({ ...parent, threadMeta })

  /** Returns false when an earlier change of a message is missing. Then everything must be fetched again. */
  function apply(event: WireEvent): boolean {
    switch (event.type) {
      case 'NEW_MESSAGE':
      case 'UPDATE_MESSAGE':
        put(event.payload)
        break
      case 'NEW_DM_MESSAGE':
      case 'UPDATE_DM_MESSAGE': {
        const { participants: _, ...message } = event.payload
        put(message)
        break
      }
      case 'DELETE_MESSAGE':
      case 'DELETE_DM_MESSAGE':
        forgetMessage(event.payload.id)
        forgetThread(event.payload.id)
        break
      case 'NEW_THREAD_REPLY': {
        const { reply, parentMessageId, threadMeta, parentRev } = event.payload
        put(reply)
        return change(parentMessageId, parentRev, withMeta(threadMeta))
      }
      case 'UPDATE_THREAD_REPLY': {
        const { parentMessageId: _, parentRev: __, ...reply } = event.payload
        put({ ...reply, threadMeta: null })
        break
      }
      case 'DELETE_THREAD_REPLY': {
        const { id, threadId, threadMeta, parentRev } = event.payload
        forgetMessage(id)
        return change(threadId, parentRev, withMeta(threadMeta))
      }
      case 'NEW_REACTION':
      case 'DELETE_REACTION':
        return change(event.payload.messageId, event.payload.rev, (message) => withReaction(message, event))
    }
    return true
  }

  return {
    channelId,
    /** Increases when messages were forgotten. Responses to earlier requests are dropped then. */
    get version() {
      return version
    },
    apply,
    put,

    /** Makes sure that the messages at this anchor are loaded, of the channel or of the thread under `parentId`. */
    want(anchor: Anchor, parentId?: string) {
      const timeline = timelineOf(parentId) ?? createAnchoredTimeline(() => changes.touch(`thread:${parentId}`))
      if (parentId) threads.set(parentId, timeline)
      timeline.want(anchor)
    },
    wantPins() {
      arePinsWanted = true
    },
    forgetThread,
    /** Forgets an anchor that the server refuses, because one refusal fails all requests for the channel. */
    forgetAnchor: (refused: Anchor, parentId?: string) => timelineOf(parentId)?.forget(refused),
    /** The requests that are needed to load everything that is wanted. */
    missing: () => ({
      pins: arePinsWanted && !arePinsLoaded,
      anchors: [[undefined, top] as const, ...threads].flatMap(([parentId, { missing }]) =>
        missing().map((anchor) => ({ parentId, anchor })),
      ),
      parents: [...threads].flatMap(([id, { missing }]) => (missing().length > 0 && !messages.has(id) ? [id] : [])),
    }),
    isLoaded: () => (!arePinsWanted || arePinsLoaded) && timelines().every(({ missing }) => missing().length === 0),

    /** Forgets all messages. The wanted anchors must be loaded again. */
    clear() {
      version++
      for (const id of messages.keys()) changes.touch(`message:${id}`)
      messages.clear()
      for (const timeline of timelines()) timeline.clear()
      arePinsLoaded = false
      touchPins()
      changes.markUnsaved('pages', channelId)
    },

    merge({ pages = [], pins: pinned, parents = [] }: Fetched) {
      for (const page of pages) timelineOf(page.parentId)?.cover(page)
      for (const message of [...pages.flatMap((page) => page.messages), ...(pinned ?? []), ...parents]) put(message)
      if (pinned) {
        arePinsLoaded = true
        touchPins()
      }
    },

    /** Updates the name of a person in all messages. */
    rename(userId: string) {
      for (const message of messages.values()) {
        const { author, threadMeta } = message
        if (author.id !== userId && threadMeta?.lastReplyBy.id !== userId) continue
        const next = withCurrentNames(message)
        if (next.author !== author || next.threadMeta !== threadMeta) setMessage(next)
      }
    },

    get: (id: string) => messages.get(id),
    timeline: (parentId?: string) => timelineOf(parentId),
    /** Newest pin first. Undefined until they are loaded. */
    pins(): readonly Message[] | undefined {
      if (!arePinsLoaded) return
      pinList ??= [...messages.values()]
        .filter(({ pinnedAt }) => pinnedAt !== null)
        .sort((one, next) => next.pinnedAt! - one.pinnedAt! || next.seq - one.seq)
      return pinList
    },
    /** Forgets the oldest messages, as `Timeline.trim`. Pinned messages and the parents of open threads stay. */
    trim(most: number) {
      for (const message of top.trim(most)) {
        version++
        if (!isWanted(message)) messages.delete(message.id)
      }
    },
    toStore: (most: number) => top.toStore(most),
    restore(page: { from: number; messages: Message[] }) {
      top.restore(page)
      for (const message of page.messages) messages.set(message.id, message)
    },
  }
}

interface ReactionEvent {
  type: 'NEW_REACTION' | 'DELETE_REACTION'
  payload: EventPayload<'NEW_REACTION'>
}

/**
 * The people of a reaction are in the order in which they added it, and a reaction keeps its place among the others. A reaction may have any
 * name, even `__proto__`.
 */
function withReaction(message: Message, { type, payload: { reaction, userId } }: ReactionEvent): Message {
  const held = Object.hasOwn(message.reactions, reaction) ? message.reactions[reaction]! : []
  const others = held.filter((id) => id !== userId)
  const people = type === 'NEW_REACTION' ? [...others, userId] : others
  const reactions = { ...message.reactions, [reaction]: people }
  if (people.length === 0) delete reactions[reaction]
  return { ...message, reactions }
}
