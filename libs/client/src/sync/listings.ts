import type { WireEvent } from '@parley/contract'
import { jittered, pause } from '../requests/backoff.ts'
import type { Client } from '../requests/client.ts'
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
  /** Set while another tab has the stream: it fetches for all, and this takes what it has stored. */
  takeFromLeader: () => (() => Promise<(since: readonly WireEvent[]) => void>) | undefined
}

export type Listings = ReturnType<typeof createListings>

/** Everybody may have to ask again after the same event: not all at once, and not after each. */
const refetchAfterMs = { least: 200, spread: 1_500 }

/** Fetches what `lists` are made of, and again what events say too little about. */
export function createListings({ client, scope, lists, asking: { ask }, closing, ...parts }: ListingsParts) {
  const firstLoad = Promise.withResolvers<void>()
  firstLoad.promise.catch(() => {})
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
        if (error instanceof RequestFailed && error.status === 401) {
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
        if (scope === 'all') await loads.presence()
        firstLoad.resolve()
      }
    }
    await Promise.all(
      others.map((what) => (what.startsWith('place:') ? fetchPlace(what.slice(6)) : loads[what as Load]())),
    )
  }

  type Load = Exclude<Need, `place:${string}`>

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

  const loads: Record<Load, () => Promise<void>> = {
    async everything() {
      await (scope === 'all' ? takeAll() : takeJoined())
      firstLoad.resolve()
    },
    webhooks: () => take(listWebhooks, lists.setWebhooks),
    presence: () => take(listPresence, lists.setPresence),
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

  /** People first: whoever becomes an admin after that is told so by an event, and fetches again. */
  async function takeAll() {
    const listEverything = async () => {
      const { users } = await client.request('GET /users')
      const me = users.find(({ id }) => id === lists.me().id)
      const [{ channels }, { conversations }, settings, presence, webhooks] = await Promise.all([
        client.request('GET /channels'),
        client.request('GET /conversations'),
        client.request('GET /server/settings'),
        listPresence(),
        me?.isAdmin ? listWebhooks() : [],
      ])
      return { me, users, channels, conversations, settings, presence, webhooks }
    }
    await take(listEverything, ({ me, users, channels, conversations, settings, presence, webhooks }) => {
      if (me) {
        const { createdAt: _, ...user } = me
        lists.setMe(user)
      }
      lists.setUsers(users)
      lists.setChannels(channels)
      lists.setConversations(conversations)
      lists.setSettings(settings.name)
      lists.setPresence(presence)
      lists.setWebhooks(webhooks)
    })
  }

  /** Nobody but the person: others are asked for when they are shown. */
  async function takeJoined() {
    const listJoined = async () => {
      const { user } = await client.request('GET /auth/me')
      const [{ channels }, { conversations }, settings] = await Promise.all([
        client.request('GET /channels', { query: { scope: 'joined', members: 'false' } }),
        client.request('GET /conversations'),
        client.request('GET /server/settings'),
      ])
      return { user, channels, conversations, settings }
    }
    await take(listJoined, ({ user, channels, conversations, settings }) => {
      lists.setMe(user)
      lists.setChannels(channels)
      lists.setConversations(conversations)
      lists.setSettings(settings.name)
    })
  }

  const listPresence = () => client.request('GET /presence').then(({ presence }) => presence, noneIf(404))
  const listWebhooks = () => client.request('GET /webhooks').then(({ webhooks }) => webhooks, noneIf(403))

  return {
    /** Resolves once everything was fetched or found in the store. Rejects when the session has ended. */
    ready: firstLoad.promise,
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

const noneIf = (status: number) => (error: unknown) => {
  if (error instanceof RequestFailed && error.status === status) return []
  throw error
}
