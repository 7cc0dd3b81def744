import type { WireEvent } from '@parley/contract'
import type { Client } from '../client/client.ts'
import { jittered, pause } from '../requests/backoff.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import type { Asking } from './ask.ts'
import type { Lists, Need } from './lists.ts'
import { retry } from './open-channels.ts'

export interface ListingsParts {
  client: Client
  scope: 'all' | 'joined'
  lists: Lists
  asking: Asking
  closing: AbortSignal
  onSettled: () => void
  /** The messages that somebody looks at are there, or take too long to be waited for. */
  untilShown: () => Promise<unknown>
  /** Answers a function while another tab leads: that tab fetches for all, and this one takes what it has stored. */
  takeFromLeader: () => (() => Promise<(since: readonly WireEvent[]) => void>) | undefined
}

export type Listings = ReturnType<typeof createListings>

type Load = Exclude<Need, `place:${string}`>

/**
 * One event may make all clients ask again. The random pause spreads their requests, and one request serves several
 * events.
 */
const refetchAfterMs = { least: 200, spread: 1_500 }

/** Fetches what `lists` are made of, and again what events say too little about. */
export function createListings({ client, scope, lists, asking: { ask }, closing, ...parts }: ListingsParts) {
  const firstLoad = Promise.withResolvers<void>()
  const channelsListed = Promise.withResolvers<void>()
  firstLoad.promise.then(channelsListed.resolve, channelsListed.reject)
  channelsListed.promise.catch(() => {})
  const needed = new Set<Need>()
  let loading: Promise<void> | undefined
  /** Grows when events were missed: answers to earlier questions are dropped then. */
  let generation = 0
  let hasEnded = false

  /** One at a time; what is needed meanwhile is fetched after it. */
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
      // Connections begin spread out already.
      const isSpread = needed.has('everything') || needed.has('presence')
      if (!isSpread) await pause(refetchAfterMs.least + Math.random() * refetchAfterMs.spread, closing)
      const taken: Need[] = needed.has('everything') ? ['everything'] : [...needed]
      needed.clear()
      try {
        await fetchAll(taken)
        failures = 0
      } catch (error) {
        // Nothing else is answered before a second factor is set up.
        if (error instanceof RequestFailed && (error.status === 401 || error.code === 'mfa_enrolment_required')) {
          hasEnded = true
          return firstLoad.reject(error)
        }
        for (const what of taken) needed.add(what)
        await pause(jittered(failures++, retry), closing)
      }
    }
  }

  async function fetchAll(taken: Need[]) {
    const take = parts.takeFromLeader()
    const others = take ? taken.filter((what) => what === 'presence') : taken
    if (take && others.length < taken.length) {
      await answered(take, (restore, since) => restore(since))
      if (taken.includes('everything')) {
        if (scope === 'all') await loadList('presence')
        firstLoad.resolve()
      }
    }
    await Promise.all(
      others.map((what) => (what.startsWith('place:') ? fetchPlace(what.slice(6)) : loadList(what as Load))),
    )
  }

  const answered = <T>(get: () => Promise<T>, merge: (answer: T, since: WireEvent[]) => void) =>
    ask(get, () => generation, merge)

  /** An answer, and then once more the events since before the question. */
  const take = <T>(get: () => Promise<T>, set: (answer: T) => void) =>
    answered(get, (answer, since) => {
      set(answer)
      applyAgain(since)
    })

  function applyAgain(since: readonly WireEvent[]) {
    for (const event of since) {
      const need = lists.apply(event)
      if (need) needed.add(need)
    }
  }

  async function loadList(what: Load) {
    if (scope === 'joined') await takeJoined()
    else {
      const { createWholeLists } = await import('./whole-lists.ts')
      await createWholeLists(client, lists, take)[what]()
    }
    if (what === 'everything') firstLoad.resolve()
  }

  /** One item of a listing. The events tell when it is gone. */
  const fetchPlace = (id: string) =>
    id.startsWith('dm:')
      ? take(
          () =>
            client.request('GET /conversations/:conversationId', { params: { conversationId: id } }).catch(goneIf(404)),
          (reply) => reply && lists.setConversation(reply.conversation),
        )
      : take(
          () => client.request('GET /channels/:channelId', { params: { channelId: id } }).catch(goneIf(403, 404)),
          (reply) => reply && lists.setChannel(reply.channel),
        )

  /**
   * Fetches the channels first, because the messages of one are being fetched already. Of people it fetches only the
   * person; others are fetched when they are shown. Until the groups of the person are known, a message that mentions
   * one is not counted as a mention.
   */
  async function takeJoined() {
    let channels: Promise<unknown>
    const listChannels = () => {
      const listed = client.request('GET /channels', { query: { scope: 'joined', members: 'false' } })
      channels = listed
      return listed
    }
    const listOthers = async () => {
      await channels
      await parts.untilShown()
      return Promise.all([
        client.request('GET /auth/me'),
        client.request('GET /conversations'),
        client.request('GET /server/settings'),
      ])
    }
    await Promise.all([
      take(listChannels, (listed) => lists.setChannels(listed.channels)).then(channelsListed.resolve),
      answered(listOthers, ([{ user, groups }, { conversations }, { name }], since) => {
        lists.setMe({ ...user, groups })
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
    /** Resolves once everything was fetched or found in the store. Rejects when the session has ended. */
    ready: firstLoad.promise,
    /** The same of the channels alone. */
    channels: channelsListed.promise,
    get isSettled() {
      return loading === undefined
    },
    fetch,
    applyAgain,
    /** Everything was found in the store. */
    setReady: () => firstLoad.resolve(),
    startAnew() {
      generation++
      fetch('everything')
    },
  }
}

const goneIf =
  (...statuses: number[]) =>
  (error: unknown) => {
    if (error instanceof RequestFailed && statuses.includes(error.status)) return undefined
    throw error
  }
