import { type Client, createSyncEngine, joinTabs } from '@parley/client'
import type { WireEvent } from '@parley/contract'
import { signal } from '@preact/signals'
import { reportStorageFailure } from '../ui/problems.ts'
import { createCommands } from './commands.ts'
import { createDeletions } from './deletions.ts'
import { createEngineReads } from './engine-reads.ts'
import { createEphemeralMessages } from './ephemeral-messages.ts'
import { followPage } from './follow-page.ts'
import { createGroups } from './groups.ts'
import { createMessages } from './messages.ts'
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
  /** The files that the person has chosen, also those of an earlier session. */
  files: ChosenFiles
  /** Called when the server refuses all requests: the session has ended, or a second factor must be set up first. */
  onRefused: (error: unknown) => void
  /** Called when the session has ended, here or in another tab. */
  onSignedOut: () => void
}

/**
 * The data and actions of one signed-in person, based on the sync engine of `@parley/client`. Components that read data render again when
 * the data change.
 */
export function createWorkspace(client: Client, myId: string, { files, onRefused, onSignedOut }: WorkspaceOptions) {
  const isReady = signal(false)
  const connection = signal<'connecting' | 'live' | 'lost'>('connecting')
  /** The server's time when the stream opened. */
  let openedAt = 0
  const ended = new AbortController()
  const renderQueue = createRenderQueue()

  const typing = createTyping(myId)
  const deletions = createDeletions(client)
  const readSender = createReadSender(client, myId)
  const marks = createUnreadMarks(client, myId, (mentions) => engine.mentionsMe(mentions))
  const quotations = createQuotations(client, myId)
  const edits = createTypedEdits(myId, deletions)
  const ephemeral = createEphemeralMessages()
  const commands = createCommands(client, ephemeral.receive)
  const groups = createGroups(client, () => engine.me().role === 'guest')
  /** Functions that are called with every event, after the engine has applied it. */
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
      // The sidebar shows the lists now. That moves what is below them, so it waits while the person presses something.
      renderQueue.add(() => {
        isReady.value = true
      }),
    onRefused,
  )
  followPage(engine, deletions, ended.signal)

  const reads = createEngineReads(engine, renderQueue)
  const people = createPeople(engine, myId, reads)
  const places = createPlaces(client, engine, myId, reads)
  const toggles = createToggles(ended.signal, (messageId) => reads.touch(`message:${messageId}`))
  const messages = createMessages(engine, reads, toggles)

  return {
    client,
    myId,
    /** Aborted when the workspace ends. What waits for something must check it before a request: the client may have another person then. */
    ended: ended.signal,
    isReady,
    /** The channel or conversation whose newest messages the person sees at this moment. Only `useReading` sets it. */
    seenId: signal<string | undefined>(undefined),
    /** The id of the shown channel, conversation or message, if it does not exist or the person may not read it. Only `useOpenPlace` sets it. */
    missingId: signal<string | undefined>(undefined),
    /** Resolves once the stored data of the person are loaded. */
    restored: engine.restored,
    connection,
    /** The number of followed threads with unread replies. Only `watchThreads` sets it. */
    unreadThreads: signal(0),
    /** Whether a message was sent after the stream was opened. Older messages may come on the stream too, when it resumes. */
    isLive: ({ createdAt }: { createdAt: number }) => createdAt > openedAt,
    settings: () => reads.read('settings', engine.settings),

    ...people,
    ...places,
    ...messages,
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
