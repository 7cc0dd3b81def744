import {
  type Client,
  createSyncEngine,
  joinTabs,
  type KnownChannel,
  type KnownConversation,
  type SyncEngine,
  storeInIndexedDb,
  type TimelinePosition,
} from '@parley/client'
import type { ChannelPreferences, User, WireEvent } from '@parley/contract'
import { signal } from '@preact/signals'
import { attempt, reportStorageFailure } from '../ui/problems.ts'
import { ignoreFailure } from '../ui/retries.ts'
import { propertiesOf } from '../ui/stored-value.ts'
import { createChannelFinder } from './channel-finder.ts'
import { createCommands } from './commands.ts'
import { createDeletions, type Deletions } from './deletions.ts'
import { createEngineReads } from './engine-reads.ts'
import { createEphemeralMessages } from './ephemeral-messages.ts'
import { createGroups } from './groups.ts'
import { createQuotations } from './quotations.ts'
import { createReadSender } from './read-sender.ts'
import { createRenderQueue } from './render-queue.ts'
import { createStoredMap } from './stored-map.ts'
import { createTypedEdits } from './typed-edits.ts'
import { createTyping } from './typing.ts'
import { createUnreadMarks } from './unread-marks.ts'
import type { ChosenFiles } from './uploads.ts'

/** The number of closed threads whose replies are kept, because people often return to them. */
const maxClosedThreads = 10

export type Workspace = ReturnType<typeof createWorkspace>
export type Place = { kind: 'channel'; channel: KnownChannel } | { kind: 'direct'; conversation: KnownConversation }

interface WorkspaceOptions {
  /** Those of an earlier session of the person too. */
  files: ChosenFiles
  onRefused: (error: unknown) => void
  onSignedOut: () => void
}

/**
 * The data and actions of one signed-in person, based on the sync engine of `@parley/client`. Components that read data render again when
 * the data change. The workspace has only the channels that the person has joined, and the people that were asked for, because a server may
 * have very many. `onRefused` is called when the server refuses all requests: the session has ended, or a second factor must be set up
 * first. `onSignedOut` is called when the session has ended, here or in another tab.
 */
export function createWorkspace(client: Client, myId: string, { files, onRefused, onSignedOut }: WorkspaceOptions) {
  const isReady = signal(false)
  const connection = signal<'connecting' | 'live' | 'lost'>('connecting')
  const renderQueue = createRenderQueue()
  const typing = createTyping(myId)
  const deletions = createDeletions(client)
  const readSender = createReadSender(client, myId)
  const marks = createUnreadMarks(client, myId)
  const quotations = createQuotations(client, myId)
  const edits = createTypedEdits(myId)
  const ephemeral = createEphemeralMessages()
  const commands = createCommands(client, ephemeral.receive)
  const groups = createGroups(client, () => engine.me().role === 'guest')
  const listeners = new Set<(event: WireEvent) => void>()
  /** The channels of closed threads, by the id of the parent, in the order in which the threads were closed. */
  const closedThreads = new Map<string, string>()
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
      marks.apply(event)
      quotations.apply(event)
      edits.apply(event)
      if (event.type === 'EPHEMERAL_MESSAGE') ephemeral.receive(event.payload)
      for (const listener of listeners) listener(event)
    },
    onSignedOut,
    onStoreFailed: reportStorageFailure,
  })
  engine.ready.then(
    () =>
      // The lists in the sidebar become longer.
      renderQueue.add(() => {
        isReady.value = true
      }),
    onRefused,
  )

  const { read, keep } = createEngineReads(engine, renderQueue)

  /** What the person has set for channels and conversations, by id, until the engine has it. */
  const unsavedPreferences = createStoredMap('set', myId, isChange)
  const find = (id: string) => engine.channel(id) ?? engine.conversation(id)
  const known = (id: string) => read(`place:${id}`, () => find(id))
  const me = keep('me', engine.me)
  const user = (id: string): User | undefined => read(`user:${id}`, () => engine.user(id))
  const isFavourite = (id: string) => unsavedPreferences.all().get(id)?.isFavourite ?? find(id)?.isFavourite
  function favouritesFirst(ids: readonly string[]) {
    const favourites = ids.filter(isFavourite)
    return favourites.length > 0 ? [...favourites, ...ids.filter((id) => !isFavourite(id))] : ids
  }
  const channelIds = () => favouritesFirst(read('channels', engine.channelIds))
  const conversationIds = () => favouritesFirst(read('conversations', engine.conversationIds))

  const channels = keep('channels', engine.channels)
  const ended = new AbortController()
  followPage(engine, deletions, ended.signal)

  return {
    client,
    myId,
    /** Aborted when the workspace ends. What waits for something must check it before a request: the client may have another person then. */
    ended: ended.signal,
    isReady,
    /** The channel or conversation whose newest messages the person sees at this moment. */
    seenId: signal<string | undefined>(undefined),
    /** The id of the shown channel, conversation or message, if it does not exist or the person may not read it. */
    missingId: signal<string | undefined>(undefined),
    /** Resolves once the stored data of the person are loaded. */
    restored: engine.restored,
    connection,
    /** The number of followed threads with unread replies. `watchThreads` keeps it up to date. */
    unreadThreads: signal(0),
    typing,
    /** Whether a message was sent after the stream was opened. Older messages may come on the stream too, when it resumes. */
    isLive: ({ createdAt }: { createdAt: number }) => createdAt > openedAt,
    deletions,
    readSender,
    marks,
    quotations,
    edits,
    groups,
    commands,
    ephemeral,
    files,
    me,
    /** The loaded people, in no particular order. */
    users: keep('users', engine.users),
    /** One of the loaded people. */
    user,
    /**
     * Loads a person who is shown, after the data that a first view needs. One request loads many people. Resolves to whether the server
     * has responded.
     */
    loadUser: (id: string): Promise<boolean> =>
      engine.ready
        .then(() => engine.loadUsers([id]))
        .then(
          () => true,
          (error) => {
            ignoreFailure(error)
            return false
          },
        ),
    /** Resolves once the signed-in person is one of `users`. */
    loadMe: () => engine.ready.then(() => engine.loadUsers([myId])),
    /** The name of the signed-in person, who is known without loading people, or of a loaded person. */
    userName: (id: string, otherwise: string) =>
      (id === myId && me.value.userName) || (user(id)?.userName ?? otherwise),
    /** Nobody who is deactivated is online. The server says so a little later. */
    presence: (id: string) =>
      (user(id)?.isActive !== false && read(`presence:${id}`, () => engine.presenceOf(id))?.status) || 'offline',
    /** Keeps the presence of these people up to date until the returned function is called. */
    showPresence: engine.showPresence,

    /** The joined channels, sorted by name. */
    channels,
    /** The ids of the joined channels, first the favourites. */
    channelIds,
    isFavourite,
    /** Finds the channel that a text names. */
    findChannel: createChannelFinder(client, channels),
    conversations: () => read('conversations', engine.conversations),
    /** First the favourites. */
    conversationIds,
    /** The joined channels and then the conversations, in the order of the sidebar. */
    placeIds: () => [...channelIds(), ...conversationIds()],
    settings: () => read('settings', engine.settings),
    totals: () => read('unread', engine.totals),

    unsavedPreferences,
    /** The channel or conversation with this id as the engine has it. `place` also has `unsavedPreferences`. */
    known,
    /** The channel or conversation with this id. Undefined unless the person has joined it or has it open. */
    place(id: string): Place | undefined {
      const item = known(id)
      if (!item) return undefined
      const change = unsavedPreferences.all().get(id)
      const changed = change ? { ...item, ...change } : item
      return 'otherUser' in changed ? { kind: 'direct', conversation: changed } : { kind: 'channel', channel: changed }
    },
    mentionsMe: engine.mentionsMe,
    /** The newest messages of a channel, conversation or thread, or those around a position. `messages` is undefined until they are loaded. */
    timeline: (id: string, position: TimelinePosition = {}) =>
      read(keyOf(id, position), () => ({
        messages: engine.messages(id, position),
        hasOlder: engine.hasOlder(id, position),
        hasNewer: engine.hasNewer(id, position),
        /** These throw RequestFailed when the page cannot be fetched. */
        loadOlder: () => engine.loadOlder(id, position),
        loadNewer: () => engine.loadNewer(id, position),
      })),
    message: (id: string, messageId: string) => read(`message:${messageId}`, () => engine.message(id, messageId)),
    pins: (id: string) => read(`pins:${id}`, () => engine.pins(id)),
    outbox: (id: string) => read(`outbox:${id}`, () => engine.outbox(id)),
    outboxIds: () => read('outbox', engine.outboxIds),

    /** These three throw RequestFailed 403 or 404 when the person may not read it, or when it does not exist. */
    open: engine.openMessages,
    openAround: engine.openAround,
    openThread: engine.openThread,
    /** Call it when a thread is closed. The replies of recently closed threads are kept. */
    leaveThread(channelId: string, parentId: string) {
      closedThreads.delete(parentId)
      closedThreads.set(parentId, channelId)
      const [oldest] = closedThreads
      if (closedThreads.size <= maxClosedThreads || !oldest) return
      closedThreads.delete(oldest[0])
      engine.closeThread(oldest[1], oldest[0])
    },
    openPins: (id: string) => attempt(engine.openPins(id)),
    close: engine.closePlace,
    trim: engine.trimMessages,
    send: engine.send,
    retry: engine.retry,
    discard: engine.discard,

    /** Calls `listener` with every event until the returned function is called. */
    listen(listener: (event: WireEvent) => void) {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },

    /** Ends the workspace in all tabs, and removes all data of the person from this browser. */
    forget: engine.forget,
    /** Ends the workspace of this tab. */
    end() {
      ended.abort()
      typing.close()
      deletions.close()
      readSender.close()
      marks.close()
      files.pause()
      quotations.close()
      edits.close()
      unsavedPreferences.close()
      renderQueue.close()
      engine.close()
    },
  }
}

/** Wakes the engine when the page is used again, and saves what waits when the page is left or hidden, until `signal` aborts. */
function followPage(engine: SyncEngine, deletions: Deletions, signal: AbortSignal) {
  const wake = () => engine.wake()
  addEventListener('online', wake, { signal })
  // Safari keeps a page that is left for "back", and takes its Web Lock from it. So another tab may lead now, and this page starts again.
  addEventListener('pageshow', ({ persisted }) => (persisted ? location.reload() : wake()), { signal })
  const onHide = () => {
    void deletions.flush()
    void engine.save()
  }
  addEventListener('pagehide', onHide, { signal })
  const onVisibility = () => {
    // A phone that is locked may end a hidden page without the event `pagehide`.
    if (document.visibilityState === 'hidden') void deletions.flush()
    wake()
  }
  document.addEventListener('visibilitychange', onVisibility, { signal })
}

/** The store of a person in this browser. */
export const storeOf = (userId: string) => storeInIndexedDb(nameOf(userId), localStorage)

const nameOf = (userId: string) => `${location.origin} ${userId}`

const keyOf = (id: string, { parentId }: TimelinePosition) => (parentId ? `thread:${parentId}` : `messages:${id}`)

export const nameOfPlace = (place: Place) =>
  place.kind === 'channel' ? place.channel.name : place.conversation.otherUser.userName

export const readStateOfPlace = (place: Place) => (place.kind === 'channel' ? place.channel : place.conversation)

const isChange = (value: unknown): value is Partial<ChannelPreferences> =>
  Object.entries(propertiesOf(value)).every(
    ([key, each]) => /^is(Muted|Favourite)$/.test(key) && typeof each === 'boolean',
  )
