import type { WireEvent } from '@parley/contract'
import type { Client } from '../client/client.ts'
import { jittered, pause, usualBackoff } from '../requests/backoff.ts'
import { RequestFailed, undefinedOn } from '../requests/request-failed.ts'
import { isConversationId } from '../requests/routes.ts'
import type { Stored } from '../store/store.ts'
import type { EventLog } from './event-log.ts'
import type { Lists, Need } from './lists.ts'

interface ListingsParts {
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

export type Listings = ReturnType<typeof createListings>

type Load = Exclude<Need, `place:${string}`>

/**
 * The pause before data are fetched again because of an event. The event may have the same effect on all clients, so the pause is
 * random. One request serves all events of the pause.
 */
const refetchAfterMs = { least: 200, spread: 1_500 }

/** Fetches the data of `lists`, and fetches them again after events that do not contain enough. */
export function createListings({
  client,
  scope,
  lists,
  eventLog: { fetchWithEvents },
  closing,
  ...parts
}: ListingsParts) {
  const firstLoad = Promise.withResolvers<void>()
  const channelsListed = Promise.withResolvers<void>()
  firstLoad.promise.then(channelsListed.resolve, channelsListed.reject)
  channelsListed.promise.catch(() => {})
  const needed = new Set<Need>()
  let loading: Promise<void> | undefined
  let generation = 0
  let hasEnded = false

  /** Fetches data. Only one load runs at a time, and data that are needed meanwhile are fetched after it. */
  function fetch(what: Need) {
    needed.add(what)
    loading ??= load().finally(() => {
      loading = undefined
      for (const each of needed) if (!closing.aborted) fetch(each)
      if (loading === undefined && !hasEnded) parts.onSettled()
    })
  }

  async function load() {
    for (let failures = 0; needed.size > 0 && !closing.aborted; ) {
      // The server spreads the reconnects of clients already, so these two need no pause.
      const isSpread = needed.has('everything') || needed.has('presence')
      if (!isSpread) await pause(refetchAfterMs.least + Math.random() * refetchAfterMs.spread, closing)
      const taken: Need[] = needed.has('everything') ? ['everything'] : [...needed]
      needed.clear()
      try {
        await fetchAll(taken)
        failures = 0
      } catch (error) {
        // The server refuses all other requests until the person has set up a second factor.
        if (error instanceof RequestFailed && (error.status === 401 || error.code === 'mfa_enrolment_required')) {
          hasEnded = true
          return firstLoad.reject(error)
        }
        for (const what of taken) needed.add(what)
        await pause(jittered(failures++, usualBackoff), closing)
      }
    }
  }

  async function fetchAll(taken: Need[]) {
    const readFromLeader = parts.readFromLeader()
    if (!readFromLeader) {
      const fetchOne = (what: Need) => (what.startsWith('place:') ? fetchPlace(what.slice(6)) : loadList(what as Load))
      await Promise.all(taken.map(fetchOne))
      return
    }
    const isWhole = taken.includes('everything')
    if (taken.some((what) => what !== 'presence')) await fetchAndSet(readFromLeader, lists.restore)
    // The leader stores everything except presence.
    if (taken.includes('presence') || (isWhole && scope === 'all')) await loadList('presence')
    if (isWhole) firstLoad.resolve()
  }

  const fetchCurrent = <T>(get: () => Promise<T>, merge: (response: T, since: WireEvent[]) => void) =>
    fetchWithEvents(get, () => generation, merge)

  /** Fetches a listing, sets it, and applies the events that came during the request. */
  const fetchAndSet = <T>(get: () => Promise<T>, set: (response: T) => void) =>
    fetchCurrent(get, (response, since) => {
      set(response)
      applyAgain(since)
    })

  function applyAgain(since: readonly WireEvent[]) {
    for (const event of since) {
      const need = lists.apply(event)
      if (need) needed.add(need)
    }
  }

  async function loadList(what: Load) {
    if (scope === 'joined') await fetchJoined()
    else {
      const { createWholeLists } = await import('./whole-lists.ts')
      await createWholeLists(client, lists, fetchAndSet)[what]()
    }
    if (what === 'everything') firstLoad.resolve()
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
   * Fetches the channels first, because the page shows one of them already and is loading its messages. Of people it fetches only the
   * signed-in person. Others are fetched when they are shown. While the groups of the person are unknown, a mention of a group is not
   * counted as a mention of the person.
   */
  async function fetchJoined() {
    let channelsRequest: Promise<unknown> | undefined
    const listChannels = () => {
      const request = client.request('GET /channels', { query: { scope: 'joined', members: 'false' } })
      channelsRequest = request
      return request
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
      fetchCurrent(listOthers, ([{ user, ...mine }, { conversations }, { name }], since) => {
        lists.setMe({ ...user, ...mine })
        lists.setConversations(conversations)
        lists.setSettings(name)
        applyAgain(since)
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
    fetch,
    fetchAndSet,
    /** Call it when the lists were restored from the store. */
    setReady: () => firstLoad.resolve(),
    reload() {
      generation++
      fetch('everything')
    },
  }
}
