import {
  type Client,
  createSyncEngine,
  joinTabs,
  type KnownChannel,
  type KnownConversation,
  RequestFailed,
  type Spot,
  storeInIndexedDb,
} from '@parley/client'
import type { User, WireEvent } from '@parley/contract'
import { computed, type Signal, signal } from '@preact/signals'
import { attempt, report } from './problems.ts'
import { createTyping } from './typing.ts'

export type Workspace = ReturnType<typeof createWorkspace>
export type Place = { kind: 'channel'; channel: KnownChannel } | { kind: 'direct'; conversation: KnownConversation }

/** What one signed-in person works with: the sync engine of `@parley/client`. Whoever reads something renders again when it changes. */
export function createWorkspace(client: Client, myId: string) {
  const isReady = signal(false)
  const connection = signal<'connecting' | 'live' | 'lost'>('connecting')
  const typing = createTyping(myId)
  const listeners = new Set<(event: WireEvent) => void>()
  const owner = `${location.origin} ${myId}`

  const engine = createSyncEngine({
    client,
    userId: myId,
    tabs: joinTabs(owner),
    store: storeInIndexedDb(owner),
    onConnection: (isOpen) => {
      connection.value = isOpen ? 'live' : 'lost'
    },
    onEvent: (event) => {
      typing.apply(event)
      for (const listener of listeners) listener(event)
    },
    onStoreFailed: report,
  })
  engine.ready.then(
    () => {
      isReady.value = true
    },
    (error) => {
      // The session has ended: the page shows the sign-in.
      if (!(error instanceof RequestFailed)) throw error
    },
  )

  const versions = new Map<string, Signal<number>>()
  /** Reads from the engine, and again whenever what stands under the key has changed. */
  function read<T>(key: string, ask: () => T): T {
    const version = versions.get(key) ?? follow(key)
    return version.value >= 0 ? ask() : ask()
  }
  function follow(key: string): Signal<number> {
    const version = signal(0)
    versions.set(key, version)
    engine.subscribe(key, () => {
      version.value++
    })
    return version
  }

  const users = computed(() => read('users', () => new Map(engine.users().map((user) => [user.id, user]))))
  const wake = () => engine.wake()
  const save = () => void engine.save()
  addEventListener('online', wake)
  addEventListener('pageshow', wake)
  addEventListener('pagehide', save)
  document.addEventListener('visibilitychange', wake)

  return {
    client,
    myId,
    isReady,
    connection,
    typing,
    /** Everybody, by id. */
    users,
    me: computed(() => users.value.get(myId)),
    channels: computed(() => read('channels', () => engine.channels())),
    channelIds: () => read('channels', engine.channelIds),
    conversationIds: () => read('conversations', engine.conversationIds),
    settings: () => read('settings', engine.settings),
    webhooks: () => read('webhooks', engine.webhooks),
    totals: () => read('unread', engine.totals),
    userName: (id: string, otherwise: string) => read(`user:${id}`, () => engine.user(id))?.userName ?? otherwise,
    presence: (id: string) => read(`presence:${id}`, () => engine.presenceOf(id))?.status ?? 'offline',

    /** The channel or conversation with this id, if the person has it. */
    place(id: string): Place | undefined {
      const channel = read(`place:${id}`, () => engine.channel(id))
      if (channel) return { kind: 'channel', channel }
      const conversation = read(`place:${id}`, () => engine.conversation(id))
      return conversation && { kind: 'direct', conversation }
    },
    messages: (id: string, spot?: Spot) => read(`messages:${id}`, () => engine.messages(id, spot)),
    hasOlder: (id: string, spot?: Spot) => read(`messages:${id}`, () => engine.hasOlder(id, spot)),
    hasNewer: (id: string, spot?: Spot) => read(`messages:${id}`, () => engine.hasNewer(id, spot)),
    replies: (id: string, parentId: string) => read(`thread:${parentId}`, () => engine.replies(id, parentId)),
    hasOlderReplies: (id: string, parentId: string) =>
      read(`thread:${parentId}`, () => engine.hasOlder(id, { parentId })),
    message: (id: string, messageId: string) => read(`message:${messageId}`, () => engine.message(id, messageId)),
    pins: (id: string) => read(`pins:${id}`, () => engine.pins(id)),
    outbox: (id: string) => read(`outbox:${id}`, () => engine.outbox(id)),

    open: (id: string) => attempt(engine.openMessages(id)),
    openAround: (id: string, anchor: { id: string } | { seq: number }) => attempt(engine.openAround(id, anchor)),
    openThread: (id: string, parentId: string) => attempt(engine.openThread(id, parentId)),
    openPins: (id: string) => attempt(engine.openPins(id)),
    close: (id: string) => engine.closePlace(id),
    loadOlder: (id: string, spot?: Spot) => attempt(engine.loadOlder(id, spot)),
    loadNewer: (id: string, spot?: Spot) => attempt(engine.loadNewer(id, spot)),
    send: engine.send,
    retry: engine.retry,
    discard: engine.discard,

    /** Told of every event until the returned function is called. */
    listen(listener: (event: WireEvent) => void) {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },

    /** Ends the session and removes everything that this browser has of the person. */
    signOut: () => engine.signOut(),
    /** Ends this tab's part. */
    end() {
      removeEventListener('online', wake)
      removeEventListener('pageshow', wake)
      removeEventListener('pagehide', save)
      document.removeEventListener('visibilitychange', wake)
      typing.close()
      engine.close()
    },
  }
}

export const nameOfPlace = (place: Place) =>
  place.kind === 'channel' ? place.channel.name : place.conversation.otherUser.userName

export const readStateOfPlace = (place: Place) => (place.kind === 'channel' ? place.channel : place.conversation)

/** People in the order of their names. */
export const peopleByName = (users: ReadonlyMap<string, User>) =>
  [...users.values()].sort((a, b) => a.userName.localeCompare(b.userName))
