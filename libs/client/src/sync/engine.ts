import type { EventPayload, Message, WireEvent } from '@parley/contract'
import type { Client } from '../requests/client.ts'
import type { EventStream, StreamHandlers } from '../stream/event-stream.ts'
import { createAsking } from './ask.ts'
import { createPlaces } from './channels-open.ts'
import { createListings } from './listings.ts'
import { createLists } from './lists.ts'

export interface CopyOptions {
  client: Client
  /** How to follow events; by default a stream of its own. Give `client.openSharedStream` in a browser. */
  openStream?: (handlers: StreamHandlers) => EventStream
  /** Messages of a channel and replies of a thread fetched at once. */
  pageSize?: number
  /** Told, once per turn of the event loop, that something is different. */
  onChange?: () => void
  /** Every event after it was applied: for what is not kept, such as TYPING. */
  onEvent?: (event: WireEvent) => void
  /** Whether the connection is there. */
  onConnection?: (isOpen: boolean) => void
  onSignedOut?: () => void
}

export type Copy = ReturnType<typeof createCopy>

/**
 * What one person sees of a server, kept up to date: follow the events, fetch, apply the events since once more. It equals
 * what fetching anew would give as soon as the events of all changes have come, whatever happened in between.
 */
export function createCopy({ client, pageSize = 50, ...options }: CopyOptions) {
  const closing = new AbortController()
  const lists = createLists()
  const asking = createAsking(closing.signal, tell)
  const listings = createListings({ client, lists, asking, closing: closing.signal })
  const places = createPlaces({ client, pageSize, asking, closing: closing.signal })
  let isBegun = false
  let isTelling = false

  const openStream = options.openStream ?? ((handlers: StreamHandlers) => client.openStream(handlers))
  const stream = openStream({
    onOpen: begin,
    onEvent: receive,
    onLost: () => options.onConnection?.(false),
    onSignedOut: () => options.onSignedOut?.(),
  })

  function begin({ userId, resumed }: EventPayload<'CONNECTED'>) {
    options.onConnection?.(true)
    lists.begin(userId)
    // Not stored, so not resumed either.
    if (isBegun && resumed) return listings.fetch('presence')
    isBegun = true
    startAnew()
  }

  function startAnew() {
    places.startAnew()
    listings.startAnew()
  }

  function receive(event: WireEvent) {
    asking.record(event)
    const need = lists.apply(event)
    if (need === 'everything') startAnew()
    else if (need) listings.fetch(need)
    places.apply(event)
    options.onEvent?.(event)
    tell()
  }

  function tell() {
    if (isTelling || !options.onChange) return
    isTelling = true
    queueMicrotask(() => {
      isTelling = false
      options.onChange!()
    })
  }

  const named = (message: Message): Message => {
    const { author, threadMeta } = message
    return {
      ...message,
      author: lists.nameOf(author),
      threadMeta: threadMeta && { ...threadMeta, lastReplyBy: lists.nameOf(threadMeta.lastReplyBy) },
    }
  }

  return {
    /** Resolves once everything but messages is there. Rejects when the session has ended. */
    ready: listings.ready,
    get cursor() {
      return stream.cursor
    },
    /** Whether nothing is being fetched, or about to be. */
    get isSettled() {
      return listings.isSettled && places.isSettled
    },
    me: lists.me,
    settings: lists.settings,
    users: lists.users,
    channels: lists.channels,
    /** Those with the newest messages first. */
    conversations: lists.conversations,
    /** Of everybody in `users`. */
    presence: lists.presence,
    /** Empty for everybody but admins. */
    webhooks: lists.webhooks,

    /** Keeps the newest messages of a channel or conversation from now on. @throws RequestFailed 403 or 404. */
    openMessages: (channelId: string) => places.open(channelId, 'newest'),
    openPins: (channelId: string) => places.open(channelId, 'pins'),
    openThread: (channelId: string, parentId: string) => places.open(channelId, { thread: parentId }),
    closeThread: (channelId: string, parentId: string) => places.get(channelId)?.forgetThread(parentId),
    /** Keeps nothing more of its messages. */
    closePlace: places.close,

    /** Oldest first; undefined when it is not open. */
    messages: (channelId: string) => places.get(channelId)?.newest().map(named),
    pins: (channelId: string) => places.get(channelId)?.pins().map(named),
    replies: (channelId: string, parentId: string) => places.get(channelId)?.replies(parentId).map(named),
    /** False also while it is not known. */
    hasOlder: (channelId: string) => places.get(channelId)?.hasOlder() === true,
    /** Fetches the page before the oldest message that is kept; nothing when the place is being fetched anew. */
    loadOlder: places.loadOlder,

    /** Makes a try to reconnect now, when one is waited for: the network is back, or somebody looks at the page again. */
    wake: () => stream.wake(),
    close() {
      closing.abort()
      stream.close()
    },
  }
}
