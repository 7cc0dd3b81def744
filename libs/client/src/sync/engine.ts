import type { EventPayload, Message, WireEvent } from '@parley/contract'
import { createOutbox } from '../outbox/outbox.ts'
import type { Client } from '../requests/client.ts'
import type { MessageBody } from '../requests/routes.ts'
import { type Store, storeInMemory } from '../store/store.ts'
import type { EventStream, StreamHandlers, StreamOptions } from '../stream/event-stream.ts'
import { soleTab, type Tabs } from '../stream/tabs.ts'
import { createAsking } from './ask.ts'
import { createChanges } from './changes.ts'
import type { Anchor } from './channel-messages.ts'
import { createLeadership } from './leadership.ts'
import { createListings } from './listings.ts'
import { createLists } from './lists.ts'
import { createOpenChannels, type Spot } from './open-channels.ts'
import { createPersistence } from './persistence.ts'

export interface SyncEngineOptions {
  client: Client
  /** Where everything is kept between two starts; by default only in memory. */
  store?: Store
  /** The tabs that share one stream and one store, as `joinTabs` gives them. */
  tabs?: Tabs
  /**
   * `all`, the default: every channel and person, for bots and small servers. `joined`: the channels that the person has joined,
   * and of people those who are asked for, for servers of any size.
   */
  scope?: 'all' | 'joined'
  /** The person who is signed in, when that is known before the server says so: what a store has of somebody else is not shown. */
  userId?: string
  /** How to follow events, unless by a stream of its own or the stream of the tabs. */
  openStream?: (handlers: StreamHandlers, options: StreamOptions) => EventStream
  /** Messages of a channel and replies of a thread fetched at once. */
  pageSize?: number
  /** Told, once per turn of the event loop, that something is different. */
  onChange?: () => void
  /** Every event after it was applied: for what is not kept, such as TYPING. */
  onEvent?: (event: WireEvent) => void
  /** Whether the connection is there. */
  onConnection?: (isOpen: boolean) => void
  onSignedOut?: () => void
  /** The store cannot be read or written, when it is full for example. Everything goes on without it. */
  onStoreFailed?: (error: unknown) => void
}

export type SyncEngine = ReturnType<typeof createSyncEngine>

/**
 * What one person sees of a server, kept up to date: follow the events, fetch, apply the events since once more. It equals
 * what fetching anew would give as soon as the events of all changes have come, whatever happened in between. With a store a later
 * start goes on where this one ended, and fetches nothing when the server still has all events since.
 */
export function createSyncEngine({ client, scope = 'all', pageSize = 50, ...options }: SyncEngineOptions) {
  const { store = storeInMemory(), onStoreFailed = () => {} } = options
  const streamTabs = options.tabs ?? soleTab()
  // Tabs that have stores of their own share nothing but the stream.
  const tabs = store.isShared ? streamTabs : soleTab()
  const closing = new AbortController()
  const changes = createChanges(options.onChange)
  const asking = createAsking(closing.signal)
  const lists = createLists({ scope, changes, onRenamed: (id) => channels.rename(id) })
  const channels = createOpenChannels({
    client,
    pageSize,
    asking,
    changes,
    closing: closing.signal,
    nameOf: lists.nameOf,
    follow,
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
  const leadership = createLeadership({
    tabs,
    store,
    persistence,
    onKeep: (id) => void channels.keep(id),
    onSignedOut: () => void leave('everything').then(options.onSignedOut, onStoreFailed),
    onStoreFailed,
  })
  const listings = createListings({
    client,
    scope,
    lists,
    asking,
    closing: closing.signal,
    onSettled: settle,
    takeFromLeader: () => leadership.take((stored) => lists.restore(stored), listings.applyAgain),
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
  let loadingPeople: Promise<ReturnType<typeof import('./people.ts').createPeople>> | undefined
  /** Loaded when somebody is asked for. */
  const people = () => {
    loadingPeople ??= import('./people.ts').then(({ createPeople }) =>
      createPeople({ client, lists, asking, closing: closing.signal, version: () => generation }),
    )
    return loadingPeople
  }

  let stream: EventStream | undefined
  /** Whether everything that is kept is what the stream has come to, apart from what is being fetched. */
  let isCurrent = false
  let isOpen = false
  const watched = new Set<string>()
  /** What is fetched before the stream is open would have to be fetched once more. */
  const opened = Promise.withResolvers<void>()

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
    const streamOptions: StreamOptions = {
      cursor: stored?.state.cursor,
      ...(scope === 'joined' && { scope, presence: 'none' }),
    }
    const handlers = { onOpen, onEvent: receive, onLost: () => setOpen(false), onSignedOut }
    stream = options.openStream
      ? options.openStream(handlers, streamOptions)
      : client.openSharedStream(streamTabs, handlers, streamOptions)
    const hasFollowed = !tabs.isLeader
    tabs.whenLeader(() => {
      // The store has what the last leader knew: this tab may know less of one thing, and more of another.
      if (hasFollowed) persistence.startAnew()
      persistence.schedule()
      outbox.startSending()
    })
    await outbox.read()
  }

  function onOpen({ userId, resumed }: EventPayload<'CONNECTED'>) {
    if (userId !== (options.userId ?? (lists.me().id || userId))) {
      // Somebody else has signed in meanwhile: nothing that is kept here is theirs.
      close()
      return options.onSignedOut?.()
    }
    setOpen(true)
    if (lists.me().id === '') lists.setMe({ ...lists.me(), id: userId })
    outbox.wake()
    void outbox.read().catch(onStoreFailed)
    if (!resumed || !isCurrent) startAnew()
    opened.resolve()
    if (!isCurrent) return
    // Not stored, so not resumed either.
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
    followLookedAt()
  }

  function receive(event: WireEvent) {
    asking.record(event)
    outbox.apply(event)
    const need = lists.apply(event)
    if (need === 'everything') startAnew()
    else if (need) listings.fetch(need)
    channels.apply(event)
    if (event.type === 'UPDATE_CHANNEL') followLookedAt()
    persistence.schedule()
    options.onEvent?.(event)
  }

  /** A public channel that the person has not joined comes only with a stream that watches it. */
  async function follow(channelId: string): Promise<void> {
    await opened.promise
    if (scope === 'joined') await listings.ready
    if (isFollowed(channelId)) return
    watched.add(channelId)
    await stream?.watch([...watched])
    await asking.ask(
      () => client.request('GET /channels/:channelId', { params: { channelId } }),
      () => 0,
      ({ channel }, since) => {
        lists.setChannel(channel)
        listings.applyAgain(since)
      },
    )
  }

  const isFollowed = (channelId: string) =>
    scope === 'all' || channelId.startsWith('dm:') || lists.channel(channelId)?.isMember === true

  /** Membership of a channel that somebody looks at may have ended. */
  function followLookedAt() {
    for (const id of channels.lookedAt()) if (!isFollowed(id) && !watched.has(id)) channels.reload(id)
  }

  function unfollow(channelId: string) {
    if (!watched.delete(channelId)) return
    void stream?.watch([...watched])
    if (isFollowed(channelId)) return
    channels.drop(channelId)
    lists.removeChannel(channelId)
  }

  function setOpen(isOpenNow: boolean) {
    isOpen = isOpenNow
    changes.touch('connection')
    options.onConnection?.(isOpenNow)
  }

  /** The session has ended by itself: what was copied goes, what the person has typed waits for their next sign-in. */
  function onSignedOut() {
    outbox.close()
    persistence.wipe('copies').catch(onStoreFailed)
    options.onSignedOut?.()
  }

  function close() {
    closing.abort()
    opened.resolve()
    outbox.close()
    stream?.close()
    persistence.close()
    streamTabs.close()
  }

  /** Removes what is kept of the person, and ends. */
  async function leave(what: 'everything' | 'copies') {
    closing.abort()
    outbox.close()
    stream?.close()
    await persistence.wipe(what)
    close()
  }

  async function open(channelId: string, anchor: Anchor, parentId?: string): Promise<void> {
    await begun
    await channels.open(channelId, anchor, parentId)
    if (anchor === 'newest' && parentId === undefined) leadership.keep(channelId)
  }

  const timeline = (channelId: string, { parentId }: Spot = {}) => channels.get(channelId)?.timeline(parentId)

  return {
    /** Resolves once everything but messages is there, from the store or the server. Rejects when the session has ended. */
    ready: listings.ready,
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
     * below. Answers a function that ends it.
     */
    subscribe: changes.subscribe,

    /** The person who is signed in. Key `me`. */
    me: lists.me,
    /** Key `settings`. */
    settings: lists.settings,
    /** Key `users`: somebody has come, left or changed. */
    users: lists.users,
    /** Key `user:<id>`. */
    user: lists.user,
    /** Asks for those of them who are not known yet. */
    loadUsers: (ids: readonly string[]) => people().then(({ load }) => load(ids)),
    /** By name. Key `channels`: the order or the number has changed; of each channel `place:<id>`. */
    channels: lists.channels,
    channelIds: lists.channelIds,
    /** Key `place:<id>`. */
    channel: lists.channel,
    /** Those with the newest messages first. Key `conversations`, as with channels. */
    conversations: lists.conversations,
    conversationIds: lists.conversationIds,
    /** Key `place:<id>`. */
    conversation: lists.conversation,
    /** Unread messages, mentions, and channels and conversations with any. Key `unread`. */
    totals: lists.totals,
    /** Of everybody in `users`. Key `presence`. */
    presence: lists.presence,
    /** Key `presence:<userId>`. */
    presenceOf: lists.presenceOf,
    /** With `joined`: keeps the presence of these people up to date until the answered function is called. */
    showPresence(ids: readonly string[]): () => void {
      const shown = people().then(({ showPresence }) => showPresence(ids, () => {}))
      return () => void shown.then((end) => end())
    },
    /** Empty for everybody but admins, and with `joined`. Key `webhooks`. */
    webhooks: lists.webhooks,

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
      unfollow(channelId)
    },

    /** A message that is kept. Key `message:<id>`. */
    message: (channelId: string, id: string): Message | undefined => channels.get(channelId)?.get(id),
    /**
     * Oldest first and without a hole: the newest ones, or those around `seq`, of the channel or of the thread under `parentId`;
     * undefined when they are not there. Key `messages:<channelId>` or `thread:<parentId>`: one has come or gone.
     */
    messages: (channelId: string, spot: Spot = {}) => timeline(channelId, spot)?.messages(spot.seq),
    /** Newest pin first. Key `pins:<channelId>`. */
    pins: (channelId: string) => channels.get(channelId)?.pins(),
    replies: (channelId: string, parentId: string) => timeline(channelId, { parentId })?.messages(),
    /** False also while it is not known. */
    hasOlder: (channelId: string, spot: Spot = {}) => timeline(channelId, spot)?.hasOlder(spot.seq) === true,
    hasNewer: (channelId: string, spot: Spot = {}) => timeline(channelId, spot)?.hasNewer(spot.seq) === true,
    /** Fetches the page before the oldest message; it is dropped when the channel is fetched anew meanwhile. */
    loadOlder: channels.loadOlder,
    /** Fetches the page after the newest message, until the pages meet those that are kept already. */
    loadNewer: channels.loadNewer,

    /** Queues a message. Resolves once it is stored; from then on it will be sent. */
    send: (message: { channelId: string; parentId?: string; body: MessageBody }) =>
      begun.then(() => outbox.send(message)),
    /** What is still to be sent to a channel or conversation. Key `outbox:<channelId>`; for all of them `outbox`. */
    outbox: outbox.entries,
    outboxSize: outbox.size,
    /** Sends a message that was refused once more. */
    retry: outbox.retry,
    discard: outbox.discard,

    /** The network is back, or somebody looks at the page again: waits for no timer. */
    wake() {
      stream?.wake()
      outbox.wake()
    },
    /** Writes into the store what it does not have yet: before a page goes away. */
    save: () => persistence.save(),
    /** Ends the session, and removes everything that is kept of the person, the outbox too, in every tab. */
    async signOut(): Promise<void> {
      outbox.close()
      try {
        await client.signOut()
      } finally {
        leadership.tellSignedOut()
        await leave('everything')
      }
    },
    /** Ends this tab's part; everything that was stored stays. */
    close,
  }
}
