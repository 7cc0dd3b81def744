import {
  type Client,
  createSyncEngine,
  joinTabs,
  type KnownChannel,
  type KnownConversation,
  type Spot,
  storeInIndexedDb,
} from '@parley/client'
import type { User, WireEvent } from '@parley/contract'
import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { attempt, ignoreFailure, report } from '../ui/problems.ts'
import { createCommands } from './commands.ts'
import { createDeletions } from './deletions.ts'
import { createFoundChannels } from './found-channels.ts'
import { createGroups } from './groups.ts'
import { createRedraws } from './redraws.ts'
import { createTyping } from './typing.ts'
import { createUnreadMarks } from './unread-marks.ts'
import { createChosenFiles } from './uploads.ts'

/** Threads that were left, and that are kept because people come back to them. */
const mostThreadsLeft = 10

export type Workspace = ReturnType<typeof createWorkspace>
export type Place = { kind: 'channel'; channel: KnownChannel } | { kind: 'direct'; conversation: KnownConversation }

/**
 * What one signed-in person works with: the sync engine of `@parley/client`. Whoever reads something renders again when it changes.
 * Channels are those that the person has joined, people those who were asked for: a server may have very many of both. `onRefused` is told
 * why nothing can be fetched: the session has ended, or a second factor must be set up first. `onSignedOut` is told when the session has
 * ended, here or in another tab.
 */
export function createWorkspace(
  client: Client,
  myId: string,
  { onRefused, onSignedOut }: { onRefused: (error: unknown) => void; onSignedOut: () => void },
) {
  const isReady = signal(false)
  const connection = signal<'connecting' | 'live' | 'lost'>('connecting')
  const redraws = createRedraws()
  const typing = createTyping(myId)
  const deletions = createDeletions(client)
  const marks = createUnreadMarks(myId)
  const commands = createCommands(client)
  const groups = createGroups(client, () => engine.me().role === 'guest')
  const listeners = new Set<(event: WireEvent) => void>()
  /** By the id of the parent, the channel; the one that was left last stands last. */
  const threadsLeft = new Map<string, string>()
  let openedAt = 0

  const engine = createSyncEngine({
    client,
    userId: myId,
    scope: 'joined',
    tabs: joinTabs(nameOf(myId)),
    store: storeOf(myId),
    onConnection: (isOpen, at) => {
      openedAt = at ?? openedAt
      if (!isOpen) groups.forget()
      connection.value = isOpen ? 'live' : 'lost'
    },
    onEvent: (event) => {
      typing.apply(event)
      groups.apply(event)
      if (event.type === 'EPHEMERAL_MESSAGE') commands.hear(event.payload)
      for (const listener of listeners) listener(event)
    },
    onSignedOut,
    onStoreFailed: report,
  })
  engine.ready.then(() => {
    isReady.value = true
  }, onRefused)

  /**
   * By key, a counter of changes for each key that is read at this moment. Others are removed: a page that is open for
   * weeks shows very many messages one after the other.
   */
  const versions = new Map<string, Signal<number>>()
  /** Reads from the engine, and again whenever what stands under the key has changed. */
  function read<T>(key: string, ask: () => T): T {
    const version = versions.get(key) ?? follow(key)
    return version.value >= 0 ? ask() : ask()
  }
  function follow(key: string): Signal<number> {
    let end = () => {}
    const version = signal(0, {
      watched() {
        versions.set(key, version)
        const redraw = () => void version.value++
        end = engine.subscribe(key, () => {
          redraws.add(redraw)
          // What the person sends is shown at once.
          if (key.startsWith('outbox')) redraws.flush()
        })
      },
      unwatched() {
        versions.delete(key)
        end()
      },
    })
    return version
  }
  /** Kept as long as the workspace, so that it can be read at any time. */
  function keep<T>(key: string, ask: () => T): ReadonlySignal<T> {
    const kept = signal(ask())
    engine.subscribe(key, () => {
      kept.value = ask()
    })
    return kept
  }

  const channels = keep('channels', engine.channels)
  const wake = () => engine.wake()
  const leave = () => {
    void deletions.flush()
    void engine.save()
  }
  addEventListener('online', wake)
  addEventListener('pageshow', wake)
  addEventListener('pagehide', leave)
  document.addEventListener('visibilitychange', wake)

  return {
    client,
    myId,
    isReady,
    /** Resolves once everything is there that this browser has kept of the person. */
    restored: engine.restored,
    connection,
    typing,
    /** Whether it was said after the connection was opened, not before that and only brought by it. */
    isLive: ({ createdAt }: { createdAt: number }) => createdAt > openedAt,
    deletions,
    marks,
    groups,
    commands,
    files: createChosenFiles(client),
    me: keep('me', engine.me),
    /** People who were asked for, in no order. */
    users: keep('users', engine.users),
    /** One of them. */
    user: (id: string): User | undefined => read(`user:${id}`, () => engine.user(id)),
    /** Asks for somebody who is shown, after what a first view cannot do without. Many who are asked for at once are one request. */
    loadUser: (id: string) => void engine.ready.then(() => engine.loadUsers([id])).catch(ignoreFailure),
    /** Resolves once the person is one of `users`: soon after the start. */
    loadMe: () => engine.ready.then(() => engine.loadUsers([myId])),
    userName: (id: string, otherwise: string) => read(`user:${id}`, () => engine.user(id))?.userName ?? otherwise,
    presence: (id: string) => read(`presence:${id}`, () => engine.presenceOf(id))?.status ?? 'offline',
    /** Keeps the presence of these people up to date until the answered function is called. */
    showPresence: engine.showPresence,

    /** Joined ones, by name. */
    channels,
    channelIds: () => read('channels', engine.channelIds),
    /** The ids of channels that a text may mean, by their names in lower case. */
    namedChannels: createFoundChannels(client, channels),
    conversations: () => read('conversations', engine.conversations),
    conversationIds: () => read('conversations', engine.conversationIds),
    settings: () => read('settings', engine.settings),
    totals: () => read('unread', engine.totals),

    /** The channel or conversation with this id, if the person has it or looks at it. */
    place(id: string): Place | undefined {
      const channel = read(`place:${id}`, () => engine.channel(id))
      if (channel) return { kind: 'channel', channel }
      const conversation = read(`place:${id}`, () => engine.conversation(id))
      return conversation && { kind: 'direct', conversation }
    },
    mentionsMe: engine.mentionsMe,
    messages: (id: string, spot?: Spot) => read(keyOf(id, spot), () => engine.messages(id, spot)),
    hasOlder: (id: string, spot?: Spot) => read(keyOf(id, spot), () => engine.hasOlder(id, spot)),
    hasNewer: (id: string, spot?: Spot) => read(keyOf(id, spot), () => engine.hasNewer(id, spot)),
    message: (id: string, messageId: string) => read(`message:${messageId}`, () => engine.message(id, messageId)),
    pins: (id: string) => read(`pins:${id}`, () => engine.pins(id)),
    outbox: (id: string) => read(`outbox:${id}`, () => engine.outbox(id)),

    /** These throw RequestFailed 403 or 404 when there is nothing to see. */
    open: engine.openMessages,
    openAround: engine.openAround,
    openThread: engine.openThread,
    /** Nobody looks at the thread any more. */
    leaveThread(channelId: string, parentId: string) {
      threadsLeft.delete(parentId)
      threadsLeft.set(parentId, channelId)
      const [oldest] = threadsLeft
      if (threadsLeft.size <= mostThreadsLeft || !oldest) return
      threadsLeft.delete(oldest[0])
      engine.closeThread(oldest[1], oldest[0])
    },
    openPins: (id: string) => attempt(engine.openPins(id)),
    close: engine.closePlace,
    loadOlder: (id: string, spot?: Spot) => engine.loadOlder(id, spot).catch(ignoreFailure),
    loadNewer: (id: string, spot?: Spot) => engine.loadNewer(id, spot).catch(ignoreFailure),
    trim: engine.trimMessages,
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

    /** Ends this tab's part and those of the other tabs, and removes everything that this browser has of the person. */
    forget: engine.forget,
    /** Ends this tab's part. */
    end() {
      removeEventListener('online', wake)
      removeEventListener('pageshow', wake)
      removeEventListener('pagehide', leave)
      document.removeEventListener('visibilitychange', wake)
      typing.close()
      deletions.close()
      marks.close()
      redraws.close()
      engine.close()
    },
  }
}

/** What this browser keeps of somebody. */
export const storeOf = (userId: string) => storeInIndexedDb(nameOf(userId), localStorage)

const nameOf = (userId: string) => `${location.origin} ${userId}`

const keyOf = (id: string, { parentId }: Spot = {}) => (parentId ? `thread:${parentId}` : `messages:${id}`)

export const nameOfPlace = (place: Place) =>
  place.kind === 'channel' ? place.channel.name : place.conversation.otherUser.userName

export const readStateOfPlace = (place: Place) => (place.kind === 'channel' ? place.channel : place.conversation)
