import type { WireEvent } from '@parley/contract'
import type { Client } from '../client/client.ts'
import { jittered, pause, usualBackoff } from '../requests/backoff.ts'
import { RequestFailed, undefinedOn } from '../requests/request-failed.ts'
import { isConversationId, type ResponseOf } from '../requests/routes.ts'
import type { Stored } from '../store/store.ts'
import type { EventLog } from './event-log.ts'
import type { Lists, Need } from './lists.ts'

interface ListLoaderParts {
  client: Client
  scope: 'all' | 'joined'
  lists: Lists
  eventLog: EventLog
  closing: AbortSignal
  onSettled: () => void
  /** Resolves when the messages that somebody looks at are loaded, or after a time limit. */
  untilShown: () => Promise<unknown>
  /** Returns a function while another tab leads. That tab fetches for all tabs, and the function reads what it has stored. */
  readFromLeader: () => (() => Promise<Stored>) | undefined
}

export type ListLoader = ReturnType<typeof createListLoader>

const placePrefix = 'place:'
type ListName = Exclude<Need, `${typeof placePrefix}${string}`>

/**
 * The pause before data are fetched again because of an event. The event may have the same effect on all clients, so the pause is
 * random. One request serves all events of the pause.
 */
const refetchAfterMs = { least: 200, spread: 1_500 }

/** Loads the data of `lists`, and loads them again after events that do not contain enough. */
export function createListLoader({
  client,
  scope,
  lists,
  eventLog: { fetchWithEvents },
  closing,
  ...parts
}: ListLoaderParts) {
  const firstLoad = Promise.withResolvers<void>()
  const channelsListed = Promise.withResolvers<void>()
  firstLoad.promise.then(channelsListed.resolve, channelsListed.reject)
  // A rejection must not count as unhandled while nobody waits for the channels.
  channelsListed.promise.catch(() => {})
  /** The data that the running load must still load. */
  const needed = new Set<Need>()
  let loading: Promise<void> | undefined
  let generation = 0
  let hasEnded = false

  /** Loads data. Only one load runs at a time, and data that are needed meanwhile are loaded after it. */
  function load(need: Need) {
    needed.add(need)
    loading ??= loadNeeded().finally(() => {
      loading = undefined
      // These became needed after `loadNeeded` had looked for the last time.
      for (const each of needed) if (!closing.aborted) load(each)
      if (loading === undefined && !hasEnded) parts.onSettled()
    })
  }

  /** Loads until nothing is needed any more, and retries after failures. It stops when the session has ended. */
  async function loadNeeded() {
    for (let failures = 0; needed.size > 0 && !closing.aborted; ) {
      // The server spreads the reconnects of clients already, so these two need no pause.
      const isSpread = needed.has('everything') || needed.has('presence')
      if (!isSpread) await pause(refetchAfterMs.least + Math.random() * refetchAfterMs.spread, closing)
      const taken: Need[] = needed.has('everything') ? ['everything'] : [...needed]
      needed.clear()
      try {
        const readFromLeader = parts.readFromLeader()
        await (readFromLeader ? loadFromLeader(taken, readFromLeader) : Promise.all(taken.map(loadFromServer)))
        failures = 0
      } catch (error) {
        // The server refuses all other requests until the person has set up a second factor.
        if (error instanceof RequestFailed && (error.status === 401 || error.code === 'mfa_enrolment_required')) {
          hasEnded = true
          return firstLoad.reject(error)
        }
        for (const need of taken) needed.add(need)
        await pause(jittered(failures++, usualBackoff), closing)
      }
    }
  }

  const loadFromServer = (need: Need) =>
    need.startsWith(placePrefix) ? fetchPlace(need.slice(placePrefix.length)) : fetchList(need as ListName)

  /** The leader stores everything except presence, which is fetched from the server. */
  async function loadFromLeader(needs: readonly Need[], read: () => Promise<Stored>) {
    const isWhole = needs.includes('everything')
    if (needs.some((need) => need !== 'presence')) await fetchAndSet(read, lists.restore)
    if (needs.includes('presence') || (isWhole && scope === 'all')) await fetchList('presence')
    if (isWhole) firstLoad.resolve()
  }

  /** Fetches data. `merge` gets the response and the events that came during the request. */
  const fetchAndMerge = <T>(get: () => Promise<T>, merge: (response: T, since: WireEvent[]) => void) =>
    fetchWithEvents(get, () => generation, merge)

  /** Fetches data and sets them. Then it applies the events that came during the request. */
  const fetchAndSet = <T>(get: () => Promise<T>, set: (response: T) => void) =>
    fetchAndMerge(get, (response, since) => {
      set(response)
      applyAgain(since)
    })

  function applyAgain(since: readonly WireEvent[]) {
    for (const event of since) {
      const need = lists.apply(event)
      if (need) needed.add(need)
    }
  }

  async function fetchList(name: ListName) {
    if (scope === 'joined') await fetchJoined()
    else {
      const { createWholeLists } = await import('./whole-lists.ts')
      await createWholeLists(client, lists, fetchAndSet)[name]()
    }
    if (name === 'everything') firstLoad.resolve()
  }

  /** Fetches one channel or conversation. A refusal is ignored, because an event says when the item is removed. */
  const fetchPlace = (id: string) =>
    isConversationId(id)
      ? fetchAndSet(
          () =>
            client
              .request('GET /conversations/:conversationId', { params: { conversationId: id } })
              .catch(undefinedOn(404)),
          (response) => response && lists.setConversation(response.conversation),
        )
      : fetchAndSet(
          () => client.request('GET /channels/:channelId', { params: { channelId: id } }).catch(undefinedOn(403, 404)),
          // A channel that the person has not joined may have been closed meanwhile.
          (response) => response && lists.channel(id) && lists.setChannel(response.channel),
        )

  /**
   * Fetches the joined channels, and then the conversations, the settings and the signed-in person. The channels come first, because the page
   * shows one of them already and is loading its messages. Other people are fetched when they are shown.
   */
  async function fetchJoined() {
    /** The newest request for the channels. The first one is sent before `listOthers` is called. */
    let channelsRequest: Promise<ResponseOf<'GET /channels'>> | undefined
    const listChannels = () => {
      channelsRequest = client.request('GET /channels', { query: { scope: 'joined', members: 'false' } })
      return channelsRequest
    }
    const listOthers = async () => {
      await channelsRequest
      await parts.untilShown()
      return Promise.all([
        client.request('GET /auth/me'),
        client.request('GET /conversations'),
        client.request('GET /server/settings'),
      ])
    }
    await Promise.all([
      fetchAndSet(listChannels, (listed) => lists.setChannels(listed.channels)).then(channelsListed.resolve),
      fetchAndMerge(listOthers, ([{ user, ...mine }, { conversations }, { name }], since) => {
        lists.setMe({ ...user, ...mine })
        lists.setConversations(conversations)
        lists.setSettings(name)
        applyAgain(since)
        // When these events came first, the groups of the person were perhaps unknown, and mentions of them were not counted.
        for (const { payload } of since) {
          if ('mentions' in payload && lists.mentionsMe(payload.mentions)) needed.add(`place:${payload.channelId}`)
        }
      }),
    ])
  }

  return {
    /** Resolves once all lists are loaded, from the server or the store. Rejects when the session has ended. */
    ready: firstLoad.promise,
    /** Resolves once the list of channels is loaded. */
    channels: channelsListed.promise,
    get isSettled() {
      return loading === undefined
    },
    /** Increases when events were missed. Responses to earlier requests are dropped then. */
    generation: () => generation,
    load,
    fetchAndSet,
    /** Call it when the lists were restored from the store. */
    setReady: () => firstLoad.resolve(),
    reload() {
      generation++
      load('everything')
    },
  }
}
