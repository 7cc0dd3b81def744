import type { EventPayload, WireEvent } from '@parley/contract'
import { createOutbox } from '../outbox/outbox.ts'
import { jittered, pause } from '../requests/backoff.ts'
import type { MessageBody } from '../requests/routes.ts'
import { createChanges } from '../store/changes.ts'
import { storeInMemory } from '../store/store.ts'
import type { EventStream, StreamOptions } from '../stream/event-stream.ts'
import { soleTab } from '../stream/tabs.ts'
import { createAsking } from './ask.ts'
import type { Anchor } from './channel-messages.ts'
import type { SyncEngineOptions } from './engine-options.ts'
import { createListings } from './listings.ts'
import { createLists } from './lists.ts'
import { createOpenChannels } from './open-channels.ts'
import { createPersistence } from './persistence.ts'
import { createViews } from './views.ts'
import { createWatching } from './watching.ts'

/** For parts of this library that could not be loaded. */
const backoff = { firstMs: 500, mostMs: 15_000 }

export type SyncEngine = ReturnType<typeof createSyncEngine>

/**
 * Keeps what one person sees of a server up to date. It follows the events, fetches, and applies the events that came
 * since a request to its answer once more. When the events of all changes have come, its state equals a fresh answer. A
 * later start from the store fetches nothing if the server still has all events since.
 */
export function createSyncEngine({ client, scope = 'all', pageSize = 50, ...options }: SyncEngineOptions) {
  const { store = storeInMemory(), onStoreFailed = () => {} } = options
  const streamTabs = options.tabs ?? soleTab()
  // Tabs that have stores of their own share nothing but the stream.
  const tabs = store.isShared ? streamTabs : soleTab()
  const closing = new AbortController()
  const changes = createChanges(options.onChange)
  const asking = createAsking(closing.signal)
  /** What is fetched before the stream is open would have to be fetched once more. */
  const opened = Promise.withResolvers<void>()
  const restored = Promise.withResolvers<void>()
  const lists = createLists({ scope, changes, onRenamed: (id) => channels.rename(id) })
  const channels = createOpenChannels({
    client,
    pageSize,
    asking,
    changes,
    closing: closing.signal,
    nameOf: lists.nameOf,
    opened: opened.promise,
    follow: (channelId) => watching.follow(channelId),
    followed: () => watching.followed(),
  })
  const persistence = createPersistence({
    store,
    changes,
    lists,
    channels,
    scope,
    cursor: () => (isCurrent && listings.isSettled ? stream?.cursor : undefined),
    isWriter: () => tabs.isLeader,
    onFailed: onStoreFailed,
  })
  const leadership = tabs.shareStore({
    store,
    persistence,
    onKeep: (id) => void channels.keep(id),
    onEnded: (what) => {
      remove(what).catch(onStoreFailed)
      options.onSignedOut?.()
    },
    onStoreFailed,
  })
  const listings = createListings({
    client,
    scope,
    lists,
    asking,
    closing: closing.signal,
    onSettled: settle,
    untilShown: channels.untilShown,
    takeFromLeader: () => leadership.take((stored) => lists.restore(stored), listings.applyAgain),
  })
  const watching = createWatching({
    client,
    scope,
    lists,
    listings,
    channels,
    asking,
    watch: async (channelIds) => stream?.watch(channelIds),
  })
  const outbox = createOutbox({
    client,
    store,
    tabs,
    changes,
    userId: () => options.userId ?? (lists.me().id || undefined),
    onSent: (message) => channels.get(message.channelId)?.put(message),
    onStoreFailed,
  })

  let generation = 0
  /** It is loaded when it is needed, and that may be while the network is away. */
  const loadPeople = async () => {
    for (let failures = 0; ; failures++) {
      const loaded = await import('./people.ts').catch(() => undefined)
      if (loaded) {
        return loaded.createPeople({ client, lists, asking, closing: closing.signal, version: () => generation })
      }
      await pause(jittered(failures, backoff))
    }
  }

  let stream: EventStream | undefined
  /** Whether the kept data are as new as the stream's cursor, apart from what is being fetched. */
  let isCurrent = false
  let isOpen = false

  const begun = start().catch(onStoreFailed)

  async function start() {
    const stored = await persistence.load(options.userId).catch(onStoreFailed)
    if (closing.signal.aborted) return
    if (stored) {
      lists.restore(stored)
      channels.restore(stored.records.pages)
      persistence.hasRestored(stored)
      isCurrent = true
      listings.setReady()
      opened.resolve()
    }
    restored.resolve()
    const streamOptions: StreamOptions = {
      cursor: stored?.state.cursor,
      ...(scope === 'joined' && { scope, presence: 'none' }),
    }
    const handlers = { onOpen, onEvent: receive, onLost: () => setOpen(false), onSignedOut }
    stream =
      options.openStream?.(handlers, streamOptions) ?? client.openSharedStream(streamTabs, handlers, streamOptions)
    const hasFollowed = !tabs.isLeader
    tabs.whenLeader(() => {
      // The last leader wrote the store. This tab may know other things than it did, so it writes everything anew.
      if (hasFollowed) persistence.startAnew()
      persistence.schedule()
      outbox.startSending()
    })
    await outbox.read()
  }

  function onOpen({ userId, role, resumed, timestamp }: EventPayload<'CONNECTED'>) {
    if (userId !== (options.userId ?? (lists.me().id || userId))) {
      // Somebody else has signed in meanwhile: nothing that is kept here is theirs.
      close()
      return options.onSignedOut?.()
    }
    setOpen(true, Date.parse(timestamp))
    if (lists.me().id === '') lists.setMe({ ...lists.me(), id: userId })
    outbox.wake()
    void outbox.read().catch(onStoreFailed)
    if (!resumed || !isCurrent) {
      lists.setRole(role)
      startAnew()
    }
    opened.resolve()
    if (!isCurrent) return
    // Presence is not stored, so it is fetched after each connection.
    if (scope === 'all') listings.fetch('presence')
  }

  function startAnew() {
    isCurrent = false
    persistence.startAnew()
    generation++
    lists.forgetPeople()
    channels.startAnew()
    listings.startAnew()
  }

  /** Nothing more is being fetched. */
  function settle() {
    isCurrent = true
    persistence.schedule()
    leadership.settle()
    watching.followLookedAt()
  }

  function receive(event: WireEvent) {
    asking.record(event)
    outbox.apply(event)
    const need = lists.apply(event)
    if (need === 'everything') startAnew()
    else if (need) listings.fetch(need)
    channels.apply(event)
    if (event.type === 'UPDATE_CHANNEL') watching.followLookedAt()
    // Guests see the people with whom they share a channel or a conversation.
    if (scope === 'all' && lists.role() === 'guest' && /CHANNEL|CONV/.test(event.type)) listings.fetch('people')
    persistence.schedule()
    options.onEvent?.(event)
  }

  function setOpen(isOpenNow: boolean, openedAt?: number) {
    isOpen = isOpenNow
    changes.touch('connection')
    options.onConnection?.(isOpenNow, openedAt)
  }

  /** The session has ended by itself. */
  function onSignedOut() {
    removeCopies()
    options.onSignedOut?.()
  }

  /** What was copied goes, what the person has typed waits for their next sign-in. */
  function removeCopies() {
    // Another tab may have a token that still works, and would go on writing what is removed here.
    leadership.tellEnded('copies')
    remove('copies').catch(onStoreFailed)
  }

  function close() {
    if (closing.signal.aborted) return
    // The program has heard of the end of the session before the stream has.
    if (client.isSignedOut()) removeCopies()
    else end()
  }

  function end() {
    closing.abort()
    opened.resolve()
    outbox.close()
    stream?.close()
    persistence.close()
    streamTabs.close()
  }

  /** Removes what is kept of the person, and ends. */
  function remove(what: 'everything' | 'copies'): Promise<void> {
    const removed = persistence.wipe(what)
    end()
    return removed
  }

  async function open(channelId: string, anchor: Anchor, parentId?: string): Promise<void> {
    await begun
    await channels.open(channelId, anchor, parentId)
    if (anchor === 'newest' && parentId === undefined) leadership.keep(channelId)
  }

  return {
    /** Resolves once everything but messages is there, from the store or the server. Rejects when the session has ended. */
    ready: listings.ready,
    /** Resolves once what the store has is there, if it has anything. */
    restored: restored.promise,
    get cursor() {
      return stream?.cursor
    },
    /** Whether nothing is being fetched, or about to be. */
    get isSettled() {
      return isCurrent && listings.isSettled && channels.isSettled
    },
    /** Whether the stream is open. Key `connection`. */
    isConnected: () => isOpen,
    /**
     * Calls back, once per turn of the event loop, after what is shown under this key has changed. Keys stand beside the functions
     * of `createViews`. Answers a function that ends it.
     */
    subscribe: changes.subscribe,

    ...createViews({ lists, channels, outbox, loadPeople }),

    /** Fetches the newest messages of a channel or conversation and keeps them from now on. @throws RequestFailed 403 or 404. */
    openMessages: (channelId: string) => open(channelId, 'newest'),
    /** The messages around one of them, given by its id or `seq`: a permalink, a search hit, the first unread one. */
    openAround: (channelId: string, anchor: { id: string } | { seq: number }, parentId?: string) =>
      open(channelId, anchor, parentId),
    /** The messages around the first unread one, or the newest. Answers its `seq`; undefined when all are read. */
    async openUnread(channelId: string): Promise<number | undefined> {
      await begun
      await listings.ready
      const { lastSeq = 0, readSeq = 0 } = lists.channel(channelId) ?? lists.conversation(channelId) ?? {}
      const seq = readSeq < lastSeq ? readSeq + 1 : undefined
      await open(channelId, seq === undefined ? 'newest' : { seq })
      return seq
    },
    openPins: (channelId: string) => begun.then(() => channels.openPins(channelId)),
    /** The newest replies, and their parent. */
    openThread: (channelId: string, parentId: string) => open(channelId, 'newest', parentId),
    closeThread: (channelId: string, parentId: string) => channels.get(channelId)?.forgetThread(parentId),
    /** Nobody looks at it any more: it is kept while there is room. */
    closePlace(channelId: string) {
      channels.close(channelId)
      watching.end(channelId)
    },

    /** Fetches the page before the oldest message; it is dropped when the channel is fetched anew meanwhile. */
    loadOlder: channels.loadOlder,
    /** Fetches the page after the newest message, until the pages meet those that are kept already. */
    loadNewer: channels.loadNewer,
    /** Forgets older messages when there are more than so many up to the newest one; they are fetched again when they are wanted. */
    trimMessages: channels.trim,

    /** Queues a message. Resolves once it is stored; from then on it will be sent. */
    send: (message: { channelId: string; parentId?: string; body: MessageBody }) =>
      // When the author is known, this does not wait for `begun`, because the page may end before the store is open.
      options.userId === undefined ? begun.then(() => outbox.send(message)) : outbox.send(message),
    /** Sends a message that was refused once more. */
    retry: outbox.retry,
    discard: outbox.discard,

    /** Tries at once what waits for a timer: the network is back, or somebody looks at the page again. */
    wake() {
      stream?.wake()
      outbox.wake()
    },
    /** Writes into the store what it does not have yet: before a page goes away. */
    save: () => persistence.save(),
    /**
     * Removes everything that is kept of the person, the outbox too, in every tab, and ends. The session on the server goes on:
     * `Client.signOut` ends it.
     */
    forget(): Promise<void> {
      leadership.tellEnded('everything')
      return remove('everything')
    },
    /** Ends this tab's part. What was stored stays; when the session has ended, only what is still to be sent. */
    close,
  }
}
