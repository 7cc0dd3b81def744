import type { Message, WireEvent } from '@parley/contract'
import { type Backoff, jittered, pause } from '../requests/backoff.ts'
import type { Client } from '../requests/client.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import type { Asking } from './ask.ts'
import { createPlace, type Fetched, type Place } from './channel-messages.ts'

export interface PlacesParts {
  client: Client
  pageSize: number
  asking: Asking
  closing: AbortSignal
}

export const retry: Backoff = { firstMs: 500, mostMs: 15_000 }

/** Fetches what is looked at in channels and conversations, and again what events leave open. */
export function createPlaces({ client, pageSize, asking: { ask }, closing }: PlacesParts) {
  const places = new Map<string, Place>()
  const loads = new Map<Place, Promise<void>>()

  function open(channelId: string, view: 'newest' | 'pins' | { thread: string }): Promise<void> {
    const place = places.get(channelId) ?? createPlace(channelId)
    places.set(channelId, place)
    place.want(view)
    // One that is being fetched does not have this view in it: it goes on until all of them are there.
    return fetchPlace(place)
  }

  function apply(event: WireEvent) {
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

  /** Everything of the place anew; what comes meanwhile is not lost. */
  function reload(place: Place) {
    place.clear()
    fetchPlace(place).catch(ignoreFailure)
  }

  function fetchPlace(place: Place): Promise<void> {
    const known = loads.get(place)
    if (known) return known
    if (closing.aborted || place.isLoaded()) return Promise.resolve()
    const load = keepFetching(place)
    loads.set(place, load)
    return load
  }

  /** Until all that is wanted is there. Gives up what may not be read, tries again whatever else fails. */
  async function keepFetching(place: Place) {
    try {
      for (let failures = 0; !closing.aborted && !place.isLoaded(); ) {
        try {
          await ask(
            () => fetchMissing(place),
            () => place.version,
            (fetched, since) => merge(place, fetched, since),
          )
        } catch (error) {
          if (error instanceof RequestFailed && [401, 403, 404].includes(error.status)) throw error
          await pause(jittered(failures++, retry), closing)
        }
      }
    } finally {
      // In the same turn as the last look at what is wanted: whoever wants more after it begins a load of their own.
      loads.delete(place)
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

  function merge(place: Place, fetched: Fetched, since: readonly WireEvent[]) {
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

  /** The page before the oldest message that is kept: worth nothing when the place has begun anew meanwhile. */
  async function loadOlder(channelId: string): Promise<void> {
    const place = places.get(channelId)
    if (!place?.hasOlder()) return
    const begun = place.version
    // None when all of the newest page were deleted.
    const [oldest] = place.newest()
    await ask(
      async () => (place.version === begun ? listMessages(channelId, oldest?.id) : undefined),
      () => place.version,
      (messages, since) => messages && merge(place, { older: { messages, limit: pageSize } }, since),
    )
  }

  return {
    get: (channelId: string) => places.get(channelId),
    get isSettled() {
      return loads.size === 0
    },
    open,
    loadOlder,
    close: (channelId: string) => places.delete(channelId),
    apply,
    startAnew() {
      for (const place of places.values()) reload(place)
    },
  }
}

/** Tried again with the next event or connection that asks for it. */
function ignoreFailure(error: unknown) {
  if (!(error instanceof RequestFailed)) throw error
}
