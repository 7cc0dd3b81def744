import type { EventPayload, Message, WireEvent } from '@parley/contract'
import { jittered, pause } from '../backoff.ts'
import type { Client } from '../client.ts'
import type { EventStream, StreamHandlers } from '../event-stream.ts'
import { RequestFailed } from '../request-failed.ts'
import { createLists, type Refetch } from './lists.ts'
import { createPlace, type Fetched, type Place } from './place.ts'

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

export interface View {
  /** Resolves once it is there; rejects when it cannot be read. */
  ready: Promise<void>
}

export type Copy = ReturnType<typeof createCopy>

const retry = { firstMs: 500, mostMs: 15_000 }
/** Everybody may have to ask again after the same event: not all at once, and not after each. */
const refetchAfterMs = { least: 200, spread: 1_500 }

/**
 * What one person sees of a server, kept up to date: follow the events, fetch, apply the events since once more. It equals
 * what fetching anew would give as soon as the events of all changes have come, whatever happened in between.
 */
export function createCopy({ client, pageSize = 50, ...options }: CopyOptions) {
  const lists = createLists()
  const places = new Map<string, Place>()
  const logs = new Set<WireEvent[]>()
  const firstLoad = Promise.withResolvers<void>()
  const closing = new AbortController()
  /** What was asked for before is worth nothing when it grows: events were missed since. */
  let generation = 0
  let isBegun = false
  let loading: Promise<void> | undefined
  let again: Refetch = null
  let isTelling = false
  const loads = new Map<Place, Promise<void>>()

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
    if (isBegun && resumed) return void fetchPresence()
    isBegun = true
    startAnew()
  }

  function startAnew() {
    generation++
    for (const place of places.values()) reload(place)
    refetch('everything')
  }

  function receive(event: WireEvent) {
    for (const log of logs) log.push(event)
    const needed = lists.apply(event)
    if (needed === 'everything') startAnew()
    else if (needed) refetch(needed)
    applyToPlace(event)
    options.onEvent?.(event)
    tell()
  }

  function applyToPlace(event: WireEvent) {
    const { payload } = event
    if (event.type === 'DELETE_CHANNEL' || event.type === 'NEW_CHANNEL') {
      // Whoever loses a channel and gets it back has missed what was said meanwhile.
      const place = places.get(event.payload.id)
      if (place) reload(place)
    } else if ('channelId' in payload) {
      const place = places.get(payload.channelId)
      if (place && !place.apply(event)) reload(place)
    }
  }

  /**
   * Asks, with the events since before the question kept, and applies them again to the answer. Asks once more when events
   * were missed meanwhile. `version` tells whether an answer is still to the point.
   */
  async function ask<T>(get: () => Promise<T>, version: () => unknown, merge: (answer: T, since: WireEvent[]) => void) {
    while (!closing.signal.aborted) {
      const since: WireEvent[] = []
      const asked = version()
      logs.add(since)
      const answer = await get()
        // What was refused before may be granted now.
        .catch((error) => {
          if (version() === asked) throw error
        })
        .finally(() => logs.delete(since))
      if (version() !== asked) continue
      merge(answer as T, since)
      return tell()
    }
  }

  /** One at a time; what is needed meanwhile is fetched after it. */
  function refetch(what: Exclude<Refetch, null>) {
    if (again !== 'everything') again = again && again !== what ? 'everything' : what
    loading ??= load().finally(() => {
      loading = undefined
      if (again && !closing.signal.aborted) refetch(again)
    })
  }

  async function load() {
    for (let failures = 0; again && !closing.signal.aborted; ) {
      if (again !== 'everything')
        await pause(refetchAfterMs.least + Math.random() * refetchAfterMs.spread, closing.signal)
      const what = again
      again = null
      try {
        await (what === 'everything' ? loadEverything() : what === 'readStates' ? loadReadStates() : loadWebhooks())
        failures = 0
      } catch (error) {
        if (error instanceof RequestFailed && error.status === 401) return firstLoad.reject(error)
        again = 'everything'
        await pause(jittered(failures++, retry), closing.signal)
      }
    }
  }

  async function loadEverything() {
    await ask(
      async () => {
        // People first: who becomes an admin after that is seen to be one by an event, and fetches again.
        const { users } = await client.request('GET /users')
        const isAdmin = users.find(({ id }) => id === lists.me())?.isAdmin === true
        const [{ channels }, { conversations }, settings, presence, webhooks] = await Promise.all([
          client.request('GET /channels'),
          client.request('GET /conversations'),
          client.request('GET /server/settings'),
          listPresence(),
          isAdmin ? listWebhooks() : [],
        ])
        return { users, channels, conversations, settings, presence, webhooks }
      },
      () => generation,
      ({ users, channels, conversations, settings, presence, webhooks }, since) => {
        lists.setUsers(users)
        lists.setChannels(channels)
        lists.setConversations(conversations)
        lists.setSettings(settings.name)
        lists.setPresence(presence)
        lists.setWebhooks(webhooks)
        applyAgain(since)
        firstLoad.resolve()
      },
    )
  }

  async function loadReadStates() {
    await ask(
      () => Promise.all([client.request('GET /channels'), client.request('GET /conversations')]),
      () => generation,
      ([{ channels }, { conversations }], since) => {
        lists.setChannels(channels)
        lists.setConversations(conversations)
        applyAgain(since)
      },
    )
  }

  const loadWebhooks = () =>
    ask(
      listWebhooks,
      () => generation,
      (webhooks, since) => {
        lists.setWebhooks(webhooks)
        applyAgain(since)
      },
    )

  function applyAgain(since: readonly WireEvent[]) {
    for (const event of since) {
      const needed = lists.apply(event)
      if (needed) again = again && again !== needed ? 'everything' : needed
    }
  }

  /** Not stored, so not resumed either: asked for after every connect. */
  async function fetchPresence() {
    await ask(
      listPresence,
      () => generation,
      (presence, since) => {
        lists.setPresence(presence)
        for (const event of since) if (event.type === 'PRESENCE_UPDATE') lists.apply(event)
      },
    ).catch(ignoreFailure)
  }

  const listPresence = () => client.request('GET /presence').then(({ presence }) => presence, noneIf(404))
  const listWebhooks = () => client.request('GET /webhooks').then(({ webhooks }) => webhooks, noneIf(403))

  /** Everything of the place anew; what comes meanwhile is not lost. */
  function reload(place: Place) {
    place.clear()
    versions.set(place, (versions.get(place) ?? 0) + 1)
    fetchPlace(place).catch(ignoreFailure)
  }
  const versions = new WeakMap<Place, number>()

  function fetchPlace(place: Place): Promise<void> {
    const known = loads.get(place)
    if (known) return known
    const load = keepFetching(place).finally(() => loads.delete(place))
    loads.set(place, load)
    return load
  }

  /** Until all that is wanted is there. Gives up what may not be read, tries again whatever else fails. */
  async function keepFetching(place: Place) {
    for (let failures = 0; !closing.signal.aborted && !place.isLoaded(); ) {
      try {
        await ask(
          () => fetchMissing(place),
          () => `${generation} ${versions.get(place)}`,
          (fetched, since) => mergePlace(place, fetched, since),
        )
      } catch (error) {
        if (error instanceof RequestFailed && [401, 403, 404].includes(error.status)) throw error
        await pause(jittered(failures++, retry), closing.signal)
      }
    }
  }

  async function fetchMissing(place: Place): Promise<Fetched> {
    const { newest, pins, threads } = place.missing()
    const [messages, pinned, ...replies] = await Promise.all([
      newest ? listMessages(place.channelId) : undefined,
      pins ? client.request('GET /channels/:channelId/pins', { params: { channelId: place.channelId } }) : undefined,
      ...threads.map((parentId) => listReplies(place, parentId)),
    ])
    return {
      newest: messages && { messages, limit: pageSize },
      pins: pinned?.messages,
      threads: replies.flatMap((thread) => thread ?? []),
    }
  }

  function mergePlace(place: Place, fetched: Fetched, since: readonly WireEvent[]) {
    place.merge(fetched)
    const own = since.filter(({ payload }) => 'channelId' in payload && payload.channelId === place.channelId)
    if (!own.every((event) => place.apply(event))) reload(place)
  }

  async function listMessages(id: string, before?: string): Promise<Message[]> {
    const query = { limit: pageSize, ...(before === undefined ? {} : { before }) }
    const { messages } = id.startsWith('dm:')
      ? await client.request('GET /conversations/:conversationId/messages', { params: { conversationId: id }, query })
      : await client.request('GET /channels/:channelId/messages', { params: { channelId: id }, query })
    return messages
  }

  /** Null, and forgotten, when the parent was deleted. */
  async function listReplies(place: Place, parentId: string) {
    try {
      const input = { params: { messageId: parentId }, query: { limit: pageSize } }
      const { replies } = await client.request('GET /messages/:messageId/thread', input)
      return { parentId, replies, limit: pageSize }
    } catch (error) {
      if (!(error instanceof RequestFailed && error.status === 404)) throw error
      place.forgetThread(parentId)
      return null
    }
  }

  function open(channelId: string, view: 'newest' | 'pins' | { thread: string }): Promise<void> {
    const place = places.get(channelId) ?? createPlace(channelId)
    places.set(channelId, place)
    place.want(view)
    // One that is being fetched does not have this view in it: it goes on until all of them are there.
    return fetchPlace(place)
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
    ready: firstLoad.promise,
    get cursor() {
      return stream.cursor
    },
    get isSettled() {
      return loading === undefined && loads.size === 0
    },
    me: lists.me,
    settings: lists.settings,
    users: lists.users,
    channels: lists.channels,
    /** Those with the newest messages first. */
    conversations: lists.conversations,
    presence: lists.presence,
    /** Empty for everybody but admins. */
    webhooks: lists.webhooks,

    /** Keeps the newest messages of a channel or conversation from now on. @throws RequestFailed 403 or 404. */
    openMessages: (channelId: string) => open(channelId, 'newest'),
    openPins: (channelId: string) => open(channelId, 'pins'),
    openThread: (channelId: string, parentId: string) => open(channelId, { thread: parentId }),
    closeThread: (channelId: string, parentId: string) => places.get(channelId)?.forgetThread(parentId),
    /** Keeps nothing more of its messages. */
    closePlace: (channelId: string) => places.delete(channelId),

    /** Oldest first; undefined when it is not open. */
    messages: (channelId: string) => places.get(channelId)?.newest().map(named),
    pins: (channelId: string) => places.get(channelId)?.pins().map(named),
    replies: (channelId: string, parentId: string) => places.get(channelId)?.replies(parentId).map(named),
    hasOlder: (channelId: string) => places.get(channelId)?.hasOlder() === true,
    /** Fetches the page before the oldest message that is kept. */
    async loadOlder(channelId: string): Promise<void> {
      const place = places.get(channelId)
      const [oldest] = place?.newest() ?? []
      if (!place || !oldest || !place.hasOlder()) return
      await ask(
        () => listMessages(channelId, oldest.id),
        () => `${generation} ${versions.get(place)}`,
        (messages, since) => mergePlace(place, { older: { messages, limit: pageSize } }, since),
      )
    },

    /** Makes a try to reconnect now, when one is waited for: the network is back, or somebody looks at the page again. */
    wake: () => stream.wake(),
    close() {
      closing.abort()
      stream.close()
    },
  }
}

/** Tried again with the next event or connection that asks for it. */
function ignoreFailure(error: unknown) {
  if (!(error instanceof RequestFailed)) throw error
}

const noneIf = (status: number) => (error: unknown) => {
  if (error instanceof RequestFailed && error.status === status) return []
  throw error
}
