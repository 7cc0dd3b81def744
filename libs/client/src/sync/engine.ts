import type { EventPayload, WireEvent } from '@parley/contract'
import { createOutbox } from '../outbox/outbox.ts'
import { createOutboxEntries } from '../outbox/outbox-entries.ts'
import type { MessageBody } from '../requests/routes.ts'
import { createChanges } from '../store/changes.ts'
import { type Removal, storeInMemory } from '../store/store.ts'
import type { EventStream, StreamOptions } from '../stream/event-stream.ts'
import { soleTab } from '../stream/tabs.ts'
import type { SyncEngineOptions } from './engine-options.ts'
import { createEventLog } from './event-log.ts'
import { createListLoader } from './list-loader.ts'
import { createLists } from './lists.ts'
import { createOpenChannels } from './open-channels.ts'
import { createPersistence } from './persistence.ts'
import { createViews } from './views.ts'
import { createWatching } from './watching.ts'

export type SyncEngine = ReturnType<typeof createSyncEngine>

/**
 * Keeps a copy of everything that one person sees of a server. It fetches data, follows the events, and applies the events that came
 * during a request to its response. Once all events have come, the copy is equal to what the server would return now. A later start from
 * the store fetches nothing if the server still has all events since then.
 */
export function createSyncEngine({ client, scope = 'all', pageSize = 50, ...options }: SyncEngineOptions) {
  const { store = storeInMemory(), onStoreFailed = () => {} } = options
  const streamTabs = options.tabs ?? soleTab()
  // Tabs with separate stores share only the stream.
  const tabs = store.isShared ? streamTabs : soleTab()
  const closing = new AbortController()
  /** Resolves when the stream is open. Data that was fetched earlier could miss events, and would be fetched again. */
  const connected = Promise.withResolvers<void>()
  const restored = Promise.withResolvers<void>()
  let stream: EventStream | undefined
  /** Whether the data are as new as the stream's cursor, apart from data that is being fetched. */
  let isCurrent = false
  let isConnected = false

  // Each part calls only parts that are created before it. The functions that it gets from the engine lead to later ones.
  const changes = createChanges(options.onChange)
  const eventLog = createEventLog(closing.signal)
  const lists = createLists({ scope, changes, onRenamed: (id) => channels.rename(id) })
  const listLoader = createListLoader({
    client,
    scope,
    lists,
    eventLog,
    closing: closing.signal,
    onSettled,
    untilShown: () => channels.untilShown(),
    readFromLeader: () => sharedStore.readFromLeader(),
  })
  const watching = createWatching({
    client,
    scope,
    lists,
    listLoader,
    watch: async (channelIds) => stream?.watch(channelIds),
  })
  const channels = createOpenChannels({
    client,
    pageSize,
    eventLog,
    changes,
    closing: closing.signal,
    withCurrentName: lists.withCurrentName,
    connected: connected.promise,
    watching,
  })
  const persistence = createPersistence({
    store,
    changes,
    lists,
    channels,
    scope,
    cursor: () => (isCurrent && listLoader.isSettled ? stream?.cursor : undefined),
    isWriter: () => tabs.isLeader,
    onFailed: onStoreFailed,
  })
  const sharedStore = tabs.shareStore({
    store,
    persistence,
    onKeep: (id) => void channels.keep(id),
    onEnded: (what) => {
      remove(what).catch(onStoreFailed)
      options.onSignedOut?.()
    },
    onStoreFailed,
  })
  const myId = () => options.userId ?? (lists.me().id || undefined)
  const outboxEntries = createOutboxEntries({ store, tabs, changes, userId: myId })
  const outbox = createOutbox({
    client,
    outboxEntries,
    userId: myId,
    onSent: (message) => channels.get(message.channelId)?.put(message),
    onStoreFailed,
  })
  const readOutbox = () => void outbox.read().catch(onStoreFailed)
  tabs.listen('outbox', readOutbox)

  const started = start().catch(onStoreFailed)

  async function start() {
    const stored = await persistence.load(options.userId).catch(onStoreFailed)
    if (closing.signal.aborted) return
    if (stored) {
      lists.restore(stored)
      channels.restore(stored.records.pages)
      persistence.setRestored(stored)
      isCurrent = true
      listLoader.setReady()
      connected.resolve()
    }
    restored.resolve()
    const streamOptions: StreamOptions = {
      cursor: stored?.state.cursor,
      ...(scope === 'joined' && { scope, presence: 'none' }),
    }
    const handlers = { onOpen, onEvent: receive, onLost: () => setConnected(false), onSignedOut }
    stream =
      options.openStream?.(handlers, streamOptions) ?? client.openSharedStream(streamTabs, handlers, streamOptions)
    const hadOtherLeader = !tabs.isLeader
    tabs.whenLeader(() => {
      // The previous leader wrote the store, and its data may differ from those of this tab. So this tab writes everything.
      if (hadOtherLeader) persistence.replaceAll()
      persistence.schedule()
      outbox.startSending()
    })
    await outbox.read()
  }

  function onOpen({ userId, role, resumed, timestamp }: EventPayload<'CONNECTED'>) {
    const expected = myId()
    if (expected !== undefined && userId !== expected) {
      // Somebody else has signed in meanwhile, and the data here are not theirs.
      close()
      return options.onSignedOut?.()
    }
    setConnected(true, Date.parse(timestamp))
    if (lists.me().id === '') lists.setMe({ ...lists.me(), id: userId })
    outbox.wake()
    readOutbox()
    if (!resumed || !isCurrent) {
      lists.setRole(role)
      refetchAll()
    } else if (scope === 'all') {
      // Presence is not stored, so it is fetched after each connection. `refetchAll` fetches it, too.
      listLoader.load('presence')
    }
    connected.resolve()
  }

  function refetchAll() {
    isCurrent = false
    persistence.replaceAll()
    lists.forgetPeople()
    channels.reloadAll()
    listLoader.reload()
  }

  /** Called when nothing is being fetched any more. */
  function onSettled() {
    isCurrent = true
    persistence.schedule()
    sharedStore.onSettled()
    channels.reloadUnfollowed()
  }

  function receive(event: WireEvent) {
    eventLog.record(event)
    outbox.apply(event)
    const need = lists.apply(event)
    if (need === 'everything') refetchAll()
    else if (need) listLoader.load(need)
    channels.apply(event)
    if (event.type === 'UPDATE_CHANNEL') channels.reloadUnfollowed()
    // Guests see only the people with whom they share a channel or a conversation. An event of either may have changed the list.
    if (scope === 'all' && lists.role() === 'guest' && /CHANNEL|CONV/.test(event.type)) listLoader.load('people')
    persistence.schedule()
    options.onEvent?.(event)
  }

  function setConnected(isNow: boolean, openedAt?: number) {
    isConnected = isNow
    changes.touch('connection')
    options.onConnection?.(isNow, openedAt)
  }

  /** The session has ended by itself. */
  function onSignedOut() {
    removeCopies()
    options.onSignedOut?.()
  }

  /** Removes the copies of server data. The outbox waits for the next sign-in of the person. */
  function removeCopies() {
    // Another tab may have a token that is still valid, and would write the data again.
    sharedStore.notifyEnd('copies')
    remove('copies').catch(onStoreFailed)
  }

  function close() {
    if (closing.signal.aborted) return
    // The session has ended, but the stream has not noticed it yet.
    if (client.isSignedOut()) removeCopies()
    else end()
  }

  function end() {
    closing.abort()
    connected.resolve()
    outbox.close()
    stream?.close()
    persistence.close()
    streamTabs.close()
  }

  /** Removes stored data of the person, and ends the engine. */
  function remove(what: Removal): Promise<void> {
    const removed = persistence.wipe(what)
    end()
    return removed
  }

  return {
    /** Resolves once all data except messages are loaded, from the store or the server. Rejects when the session has ended. */
    ready: listLoader.ready,
    /** Resolves once the stored data are loaded, or when there are none. */
    restored: restored.promise,
    /** The position at which the stream would resume. Undefined until it has one. */
    get cursor() {
      return stream?.cursor
    },
    /** Whether nothing is being fetched, or about to be. */
    get isSettled() {
      return isCurrent && listLoader.isSettled && channels.isSettled
    },
    /** Whether the stream is open. Key `connection`. */
    isConnected: () => isConnected,
    /**
     * Calls the listener, at most once per turn of the event loop, after the data of this key have changed. The functions of `createViews`
     * name their keys. Returns a function that ends the subscription.
     */
    subscribe: changes.subscribe,

    ...createViews({
      lists,
      channels,
      listLoader,
      outboxEntries,
      started,
      keep: sharedStore.keep,
      people: { client, lists, eventLog, closing: closing.signal, version: listLoader.generation },
    }),

    /** Queues a message. Resolves with its entry once it is stored, and then it will be sent. @throws when it cannot be stored. */
    async send(message: { channelId: string; parentId?: string; body: MessageBody }) {
      // When the author is known, this does not wait for `started`, because the page may be closed before the store is open.
      if (options.userId === undefined) await started
      return outbox.send(message)
    },
    /** Sends a refused message again, with a new id. */
    retry: outbox.retry,
    /** Removes a message from the outbox. If it is being sent, it may still reach the server. */
    discard: outbox.discard,

    /** Reconnects and retries immediately, because the network is back or the page is visible again. */
    wake() {
      stream?.wake()
      outbox.wake()
    },
    /** Writes all unsaved data to the store, before the page is closed. */
    save: persistence.save,
    /**
     * Removes all data of the person, the outbox too, in all tabs, and ends the engine. The session on the server continues:
     * `Client.signOut` ends it.
     */
    forget(): Promise<void> {
      sharedStore.notifyEnd('everything')
      return remove('everything')
    },
    /** Ends the engine of this tab. Stored data stay. If the session has ended, only the outbox stays. */
    close,
  }
}
