import type { Message } from '@parley/contract'
import type { OutboxEntries } from '../outbox/outbox-entries.ts'
import { jittered, pause, usualBackoff } from '../requests/backoff.ts'
import type { Anchor } from './anchored-timeline.ts'
import type { ListLoader } from './list-loader.ts'
import type { Lists } from './lists.ts'
import type { OpenChannels, TimelinePosition } from './open-channels.ts'
import type { PeopleLoader, PeopleLoaderParts } from './people-loader.ts'

interface ViewsParts {
  lists: Lists
  channels: OpenChannels
  listLoader: ListLoader
  outboxEntries: OutboxEntries
  people: PeopleLoaderParts
  /** Resolves when the stored data are loaded. */
  started: Promise<unknown>
  /** Makes the leader of the tabs load and store the newest messages of a channel. */
  keep: (channelId: string) => void
}

/** The functions with which a page loads and reads the data. Those that return data name the key with which to subscribe to changes. */
export function createViews({ lists, channels, outboxEntries, started, ...parts }: ViewsParts) {
  let peopleLoader: Promise<PeopleLoader | undefined> | undefined
  /** Loads the module of the people loader with the first call. Undefined when the engine was closed before that. */
  const importPeopleLoader = () => {
    peopleLoader ??= tryToImport(parts.people)
    return peopleLoader
  }
  const timeline = (channelId: string, { parentId }: TimelinePosition = {}) =>
    channels.get(channelId)?.timeline(parentId)

  async function openAt(channelId: string, anchor: Anchor, parentId?: string): Promise<void> {
    await started
    await channels.open(channelId, anchor, parentId)
    if (anchor === 'newest' && parentId === undefined) parts.keep(channelId)
  }

  return {
    /** The signed-in person. Key `me`. */
    me: lists.me,
    /** Whether these mentions include the person: by name, by a group, or because they mention everybody. */
    mentionsMe: lists.mentionsMe,
    /** Key `settings`. */
    settings: lists.settings,
    /** Key `users`: a person was added, removed or changed. */
    users: lists.users,
    /** Key `user:<id>`. */
    user: lists.user,
    /** Loads the people of these ids who are not loaded yet. Ids of nobody are ignored. @throws RequestFailed */
    loadUsers: (ids: readonly string[]) => importPeopleLoader().then((loader) => loader?.load(ids)),
    /** Sorted by name. Key `channels`: the order, the number or a favourite has changed. For a single channel: key `place:<id>`. */
    channels: lists.channels,
    channelIds: lists.channelIds,
    /** Key `place:<id>`. */
    channel: lists.channel,
    /** Sorted by the newest message. Key `conversations`: the order, the number or a favourite has changed. */
    conversations: lists.conversations,
    conversationIds: lists.conversationIds,
    /** Key `place:<id>`. */
    conversation: lists.conversation,
    /** The numbers of unread messages, of mentions, and of places with unread messages. In muted places only mentions are unread. Key `unread`. */
    totals: lists.totals,
    /** The presence of all people in `users`. Key `presence`. */
    presence: lists.presence,
    /** Key `presence:<userId>`. */
    presenceOf: lists.presenceOf,
    /** With `joined`: keeps the presence of these people up to date until the returned function is called. */
    showPresence(ids: readonly string[]): () => void {
      const shown = importPeopleLoader().then((loader) => loader?.showPresence(ids))
      return () => void shown.then((end) => end?.())
    },
    /** Empty with `joined`, and for people who are not admins. Key `webhooks`. */
    webhooks: lists.webhooks,

    /** A loaded message. Key `message:<id>`. */
    message: (channelId: string, id: string): Message | undefined => channels.get(channelId)?.get(id),
    /**
     * The newest messages, or those around `seq`, of the channel or of the thread under `parentId`: oldest first and without holes.
     * Undefined when they are not loaded. Key `messages:<channelId>` or `thread:<parentId>`: a message was added or removed.
     */
    messages: (channelId: string, position: TimelinePosition = {}) =>
      timeline(channelId, position)?.messages(position.seq),
    /** Newest pin first. Undefined until they are loaded. Key `pins:<channelId>`. */
    pins: (channelId: string) => channels.get(channelId)?.pins(),
    /** False also while this is not known. */
    hasOlder: (channelId: string, position: TimelinePosition = {}) =>
      timeline(channelId, position)?.hasOlder(position.seq) === true,
    hasNewer: (channelId: string, position: TimelinePosition = {}) =>
      timeline(channelId, position)?.hasNewer(position.seq) === true,

    /** Loads the newest messages of a channel or conversation, and keeps them up to date. @throws RequestFailed 403 or 404. */
    openMessages: (channelId: string) => openAt(channelId, 'newest'),
    /** Loads the messages around one message, by its id or `seq`: a permalink, a search result, the first unread message. */
    openAround: openAt as (
      channelId: string,
      anchor: { id: string } | { seq: number },
      parentId?: string,
    ) => Promise<void>,
    /** Loads the messages around the first unread message and returns its `seq`. When all are read, it loads the newest messages. */
    async openUnread(channelId: string): Promise<number | undefined> {
      await started
      await parts.listLoader.ready
      const { lastSeq = 0, readSeq = 0 } = lists.channel(channelId) ?? lists.conversation(channelId) ?? {}
      const seq = readSeq < lastSeq ? readSeq + 1 : undefined
      await openAt(channelId, seq === undefined ? 'newest' : { seq })
      return seq
    },
    /** Loads the pinned messages of a channel, and keeps them up to date. @throws RequestFailed */
    async openPins(channelId: string) {
      await started
      await channels.openPins(channelId)
    },
    /** Loads the newest replies of a thread and its parent, and keeps them up to date. @throws RequestFailed */
    openThread: (channelId: string, parentId: string) => openAt(channelId, 'newest', parentId),
    /** Forgets the replies of a thread. Call it when the thread is not shown any more. */
    closeThread: (channelId: string, parentId: string) => channels.get(channelId)?.forgetThread(parentId),
    /** Call it when a channel or conversation is not shown any more. Its messages are kept while there is room. */
    closePlace: channels.close,

    /** Fetches the page before the oldest loaded message. It is dropped when the channel is fetched again meanwhile. @throws RequestFailed */
    loadOlder: channels.loadOlder,
    /** Fetches the page after the newest message of a window that does not reach the newest messages yet. @throws RequestFailed */
    loadNewer: channels.loadNewer,
    /** Forgets the oldest messages when more than this number are loaded. They are fetched again when they are needed. */
    trimMessages: channels.trim,

    /** The messages to a place that are not sent yet. Key `outbox:<channelId>`, or `outbox` for all places. */
    outbox: outboxEntries.list,
    /** The ids of the channels and conversations that have such messages, also those that the person has lost. Key `outbox`. */
    outboxIds: outboxEntries.channelIds,
    /** The number of such messages. */
    outboxSize: outboxEntries.size,
  }
}

/** Tries until the engine is closed, because the network may be down. */
async function tryToImport(parts: PeopleLoaderParts): Promise<PeopleLoader | undefined> {
  for (let failures = 0; !parts.closing.aborted; failures++) {
    const loaded = await import('./people-loader.ts').catch(() => undefined)
    if (loaded) return loaded.createPeopleLoader(parts)
    await pause(jittered(failures, usualBackoff), parts.closing)
  }
  return undefined
}
