import type { SyncEngine, TimelinePosition } from '@parley/client'
import type { Message } from '@parley/contract'
import { attempt } from '../ui/problems.ts'
import { createClosedThreads } from './closed-threads.ts'
import type { EngineReads } from './engine-reads.ts'
import type { Toggles } from './toggles.ts'

/** The messages that the page shows or is sending, and the functions that load and send them. `id` is the id of a channel or conversation. */
export function createMessages(engine: SyncEngine, { read }: EngineReads, toggles: Toggles) {
  const closedThreads = createClosedThreads(engine.closeThread)

  return {
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
    /** Whether a message is saved. Undefined when that is not known. */
    isSaved: (messageId: string) => read(`message:${messageId}`, () => toggles.isSaved(messageId)),
    pins: (id: string) => read(`pins:${id}`, () => engine.pins(id)),
    outbox: (id: string) => read(`outbox:${id}`, () => engine.outbox(id)),
    outboxIds: () => read('outbox', engine.outboxIds),

    /** These three throw RequestFailed 403 or 404 when the person may not read it, or when it does not exist. */
    openPlace: engine.openMessages,
    openAround: engine.openAround,
    openThread: engine.openThread,
    /** Call it when a thread is closed. The replies of recently closed threads are kept. */
    leaveThread: closedThreads.add,
    openPins: (id: string) => attempt(engine.openPins(id)),
    closePlace: engine.closePlace,
    trimMessages: engine.trimMessages,
    send: engine.send,
    /** These two are for the id of a message of the outbox. */
    retryMessage: engine.retry,
    discardMessage: engine.discard,
  }
}

const keyOf = (id: string, { parentId }: TimelinePosition) => (parentId ? `thread:${parentId}` : `messages:${id}`)
