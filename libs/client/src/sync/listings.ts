import type { WireEvent } from '@parley/contract'
import { jittered, pause } from '../requests/backoff.ts'
import type { Client } from '../requests/client.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import type { Asking } from './ask.ts'
import { retry } from './channels-open.ts'
import type { Lists, Need } from './lists.ts'

export interface ListingsParts {
  client: Client
  lists: Lists
  asking: Asking
  closing: AbortSignal
}

/** Everybody may have to ask again after the same event: not all at once, and not after each. */
const refetchAfterMs = { least: 200, spread: 1_500 }

/** Fetches what `lists` are made of, and again what events say too little about. */
export function createListings({ client, lists, asking: { ask }, closing }: ListingsParts) {
  const firstLoad = Promise.withResolvers<void>()
  const needed = new Set<Need>()
  let loading: Promise<void> | undefined
  /** What was asked for before is worth nothing when it grows: events were missed since. */
  let generation = 0

  /** One at a time; what is needed meanwhile is fetched after it. */
  function fetch(what: Need) {
    needed.add(what)
    loading ??= load().finally(() => {
      loading = undefined
      for (const each of needed) if (!closing.aborted) fetch(each)
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
        await Promise.all(taken.map((what) => loads[what]()))
        failures = 0
      } catch (error) {
        if (error instanceof RequestFailed && error.status === 401) return firstLoad.reject(error)
        for (const what of taken) needed.add(what)
        await pause(jittered(failures++, retry), closing)
      }
    }
  }

  /** An answer, and then once more what was heard since before the question. */
  const take = <T>(get: () => Promise<T>, set: (answer: T) => void) =>
    ask(
      get,
      () => generation,
      (answer, since) => {
        set(answer)
        applyAgain(since)
      },
    )

  function applyAgain(since: readonly WireEvent[]) {
    for (const event of since) {
      const need = lists.apply(event)
      if (need) needed.add(need)
    }
  }

  const loads: Record<Need, () => Promise<void>> = {
    async everything() {
      await take(listEverything, ({ users, channels, conversations, settings, presence, webhooks }) => {
        lists.setUsers(users)
        lists.setChannels(channels)
        lists.setConversations(conversations)
        lists.setSettings(settings.name)
        lists.setPresence(presence)
        lists.setWebhooks(webhooks)
      })
      firstLoad.resolve()
    },
    readStates: () =>
      take(
        () => Promise.all([client.request('GET /channels'), client.request('GET /conversations')]),
        ([{ channels }, { conversations }]) => {
          lists.setChannels(channels)
          lists.setConversations(conversations)
        },
      ),
    webhooks: () => take(listWebhooks, lists.setWebhooks),
    presence: () => take(listPresence, lists.setPresence),
  }

  async function listEverything() {
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
  }

  const listPresence = () => client.request('GET /presence').then(({ presence }) => presence, noneIf(404))
  const listWebhooks = () => client.request('GET /webhooks').then(({ webhooks }) => webhooks, noneIf(403))

  return {
    /** Resolves once everything was fetched. Rejects when the session has ended. */
    ready: firstLoad.promise,
    get isSettled() {
      return loading === undefined
    },
    fetch,
    startAnew() {
      generation++
      fetch('everything')
    },
  }
}

const noneIf = (status: number) => (error: unknown) => {
  if (error instanceof RequestFailed && error.status === status) return []
  throw error
}
