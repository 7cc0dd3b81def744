import { type Client, createSyncEngine, joinTabs, type TimelinePosition } from '@parley/client'
import type { Message, WireEvent } from '@parley/contract'
import { signal } from '@preact/signals'
import { attempt, reportStorageFailure } from '../ui/problems.ts'
import { createClosedThreads } from './closed-threads.ts'
import { createCommands } from './commands.ts'
import { createDeletions } from './deletions.ts'
import { createEngineReads } from './engine-reads.ts'
import { createEphemeralMessages } from './ephemeral-messages.ts'
import { followPage } from './follow-page.ts'
import { createGroups } from './groups.ts'
import { createPeople } from './people.ts'
import { createPlaces } from './places.ts'
import { createQuotations } from './quotations.ts'
import { createReadSender } from './read-sender.ts'
import { createRenderQueue } from './render-queue.ts'
import { nameOf, storeOf } from './stores.ts'
import { createToggles } from './toggles.ts'
import { createTypedEdits } from './typed-edits.ts'
import { createTyping } from './typing.ts'
import { createUnreadMarks } from './unread-marks.ts'
import type { ChosenFiles } from './uploads.ts'

export type Workspace = ReturnType<typeof createWorkspace>

interface WorkspaceOptions {
  /** Those of an earlier session of the person too. */
  files: ChosenFiles
  onRefused: (error: unknown) => void
  onSignedOut: () => void
}

/**
 * The data and actions of one signed-in person, based on the sync engine of `@parley/client`. Components that read data render again when
 * the data change. `onRefused` is called when the server refuses all requests: the session has ended, or a second factor must be set up
 * first. `onSignedOut` is called when the session has ended, here or in another tab.
 */
export function createWorkspace(client: Client, myId: string, { files, onRefused, onSignedOut }: WorkspaceOptions) {
  const isReady = signal(false)
  const connection = signal<'connecting' | 'live' | 'lost'>('connecting')
  let openedAt = 0
  const ended = new AbortController()
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
  /** They are called with every event, after the engine has applied it. */
  const listeners = new Set<(event: WireEvent) => void>([
    typing.apply,
    groups.apply,
    marks.apply,
    quotations.apply,
    edits.apply,
    ephemeral.apply,
  ])

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
  followPage(engine, deletions, ended.signal)

  const reads = createEngineReads(engine, renderQueue)
  const { read } = reads
  const people = createPeople(engine, myId, reads)
  const places = createPlaces(client, engine, myId, reads)
  const toggles = createToggles(ended.signal, (messageId) => reads.touch(`message:${messageId}`))
  const closedThreads = createClosedThreads(engine.closeThread)

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
    /** Whether a message was sent after the stream was opened. Older messages may come on the stream too, when it resumes. */
    isLive: ({ createdAt }: { createdAt: number }) => createdAt > openedAt,
    settings: () => read('settings', engine.settings),

    ...people,
    ...places,
    typing,
    deletions,
    toggles,
    readSender,
    marks,
    quotations,
    edits,
    groups,
    commands,
    ephemeral,
    files,

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
    /** A message with what the person has turned on or off. */
    shown: (message: Message) => read(`message:${message.id}`, () => toggles.shown(message)),
    pins: (id: string) => read(`pins:${id}`, () => engine.pins(id)),
    outbox: (id: string) => read(`outbox:${id}`, () => engine.outbox(id)),
    outboxIds: () => read('outbox', engine.outboxIds),

    /** These three throw RequestFailed 403 or 404 when the person may not read it, or when it does not exist. */
    open: engine.openMessages,
    openAround: engine.openAround,
    openThread: engine.openThread,
    /** Call it when a thread is closed. The replies of recently closed threads are kept. */
    leaveThread: closedThreads.add,
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
      places.unsavedPreferences.close()
      renderQueue.close()
      engine.close()
    },
  }
}

const keyOf = (id: string, { parentId }: TimelinePosition) => (parentId ? `thread:${parentId}` : `messages:${id}`)
