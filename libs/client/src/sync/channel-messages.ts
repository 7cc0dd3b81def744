import type { EventPayload, Message, WireEvent } from '@parley/contract'
import { type Changes, createChanges } from '../store/changes.ts'
import type { WithCurrentName } from './places.ts'
import { createTimeline, type Page, type Timeline } from './timeline.ts'

/** A page of the timeline of the channel, or of the thread under `parentId`. */
export interface FetchedPage extends Page {
  parentId?: string | undefined
  /** The anchor for which the page was fetched. */
  anchor?: Anchor | undefined
  /** For a page next to a run: the `seq` at which the run ends. */
  beside?: { after?: number; before?: number } | undefined
}

/** The responses to the requests for one channel. */
export interface Fetched {
  pages?: FetchedPage[]
  pins?: Message[]
  /** Parents of threads. */
  parents?: Message[]
}

/** A position in a timeline that somebody looks at: the newest messages, or the messages around one of them. */
export type Anchor = 'newest' | { id: string } | { seq: number }

interface View {
  timeline: Timeline
  /** The anchors that must be loaded, also after everything was cleared. */
  wanted: Anchor[]
  /** The wanted anchors that are not loaded yet. */
  missing: Anchor[]
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
  const top = createView(() => {
    changes.touch(`messages:${channelId}`)
    // Only the timeline of the channel is stored, not its threads.
    changes.markUnsaved('pages', channelId)
  })
  const threads = new Map<string, View>()
  let arePinsWanted = false
  let arePinsLoaded = false
  let pinList: readonly Message[] | undefined
  let version = 0

  const viewOf = (parentId: string | null | undefined) => (parentId ? threads.get(parentId) : top)
  const views = () => [top, ...threads.values()]

  const isWanted = ({ id, threadId, seq, pinnedAt }: Message) =>
    viewOf(threadId)?.timeline.has(seq) === true ||
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
    viewOf(message.threadId)?.timeline.put(message)
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
    viewOf(known.threadId)?.timeline.remove(known.seq)
    if (known.pinnedAt !== null) touchPins()
    changes.touch(`message:${id}`)
  }

  /** Takes a message from a response or an event, unless a newer version is known or nobody wants it. */
  function put(message: Message) {
    const known = messages.get(message.id)
    if (known && known.rev >= message.rev) {
      // The message was known as a pinned message or as the parent of a thread. Now the loaded range contains it too.
      viewOf(known.threadId)?.timeline.put(known)
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
    const view = threads.get(parentId)
    if (!threads.delete(parentId)) return
    for (const { id } of view!.timeline.all()) messages.delete(id)
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
      const view = viewOf(parentId) ?? createView(() => changes.touch(`thread:${parentId}`))
      if (parentId) threads.set(parentId, view)
      view.wanted = anchor === 'newest' ? [anchor] : [...view.wanted.filter((each) => each === 'newest'), anchor]
      view.missing = view.wanted.filter((each) => !view.timeline.isLoaded(seqOf(each)))
    },
    wantPins() {
      arePinsWanted = true
    },
    forgetThread,
    /** Forgets an anchor that the server refuses, because one refusal fails all requests for the channel. */
    forgetAnchor(refused: Anchor, parentId?: string) {
      const view = viewOf(parentId)
      if (!view) return
      view.missing = view.missing.filter((anchor) => anchor !== refused)
      view.wanted = view.wanted.filter((anchor) => anchor !== refused)
    },
    /** The requests that are needed to load everything that is wanted. */
    missing: () => ({
      pins: arePinsWanted && !arePinsLoaded,
      anchors: [[undefined, top] as const, ...threads].flatMap(([parentId, { missing }]) =>
        missing.map((anchor) => ({ parentId, anchor })),
      ),
      parents: [...threads].flatMap(([id, { missing }]) => (missing.length > 0 && !messages.has(id) ? [id] : [])),
    }),
    isLoaded: () => (!arePinsWanted || arePinsLoaded) && views().every(({ missing }) => missing.length === 0),

    /** Forgets all messages. The wanted anchors must be loaded again. */
    clear() {
      version++
      for (const id of messages.keys()) changes.touch(`message:${id}`)
      messages.clear()
      for (const view of views()) {
        view.timeline.clear()
        view.missing = view.wanted
      }
      arePinsLoaded = false
      touchPins()
      changes.markUnsaved('pages', channelId)
    },

    merge({ pages = [], pins: pinned, parents = [] }: Fetched) {
      for (const page of pages) {
        const view = viewOf(page.parentId)
        view?.timeline.cover(page, page.beside)
        if (view) view.missing = view.missing.filter((anchor) => anchor !== page.anchor)
      }
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
    timeline: (parentId?: string) => viewOf(parentId)?.timeline,
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
      for (const message of top.timeline.trim(most)) {
        version++
        if (!isWanted(message)) messages.delete(message.id)
      }
    },
    toStore: (most: number) => top.timeline.toStore(most),
    restore(page: { from: number; messages: Message[] }) {
      top.timeline.restore(page)
      for (const message of page.messages) messages.set(message.id, message)
    },
  }
}

const createView = (onChange: () => void): View => ({ timeline: createTimeline(onChange), wanted: [], missing: [] })

const seqOf = (anchor: Anchor) => (typeof anchor === 'object' ? ('seq' in anchor ? anchor.seq : Number.NaN) : undefined)

interface ReactionEvent {
  type: 'NEW_REACTION' | 'DELETE_REACTION'
  payload: EventPayload<'NEW_REACTION'>
}

/** The people of a reaction are in the order in which they added it. A reaction may have any name, even `__proto__`. */
function withReaction(message: Message, { type, payload: { reaction, userId } }: ReactionEvent): Message {
  const held = Object.hasOwn(message.reactions, reaction) ? message.reactions[reaction]! : []
  const others = held.filter((id) => id !== userId)
  const people = type === 'NEW_REACTION' ? [...others, userId] : others
  const { [reaction]: _, ...rest } = message.reactions
  return { ...message, reactions: people.length === 0 ? rest : { ...rest, [reaction]: people } }
}
