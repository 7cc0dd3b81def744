import type { Client } from '../client/client.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import type { EventLog } from './event-log.ts'
import type { Lists } from './lists.ts'

export interface PeopleLoaderParts {
  client: Client
  lists: Lists
  eventLog: EventLog
  closing: AbortSignal
  /** Increases when events were missed. */
  version: () => unknown
}

export type PeopleLoader = ReturnType<typeof createPeopleLoader>

/** The server accepts at most this number of ids in one request. */
const maxAtOnce = 200
/** A page asks for each person separately. The ids of this time are fetched together. */
const gatherMs = 10
const presenceEveryMs = 60_000
/** The events that make the response of a request for people outdated. */
const changesOfPeople: ReadonlySet<string> = new Set(['UPDATE_USER', 'REMOVE_USER', 'USER_EXIT'])

/** Fetches the people that a page shows, for an engine that does not have all people. One request fetches many of them. */
export function createPeopleLoader({
  client,
  lists,
  eventLog: { fetchWithEvents },
  closing,
  version,
}: PeopleLoaderParts) {
  /** How many parts of the page show the presence of a person, by the id of the person. */
  const shown = new Map<string, number>()
  let presenceRequests = 0
  /** The number of the request that the presence of a person comes from. An earlier request may get its response later. */
  const presenceFrom = new Map<string, number>()
  let presenceTimer: ReturnType<typeof setInterval> | undefined

  closing.addEventListener('abort', stopPresence)

  function stopPresence() {
    clearInterval(presenceTimer)
    presenceTimer = undefined
  }

  const fetchUsers = createGathering(async (ids) => {
    await Promise.all(
      slices(ids).map((some) =>
        fetchWithEvents(
          () => client.request('GET /users', { query: { ids: some.join(',') } }),
          version,
          ({ users }, since) => {
            for (const user of users) lists.setUser(user)
            for (const event of since) if (changesOfPeople.has(event.type)) lists.apply(event)
          },
        ),
      ),
    )
  })

  async function fetchPresence(ids: readonly string[]) {
    try {
      for (const some of slices(ids)) {
        const request = ++presenceRequests
        const { presence } = await client.request('GET /presence', { query: { ids: some.join(',') } })
        for (const each of presence) {
          if ((presenceFrom.get(each.userId) ?? 0) > request) continue
          presenceFrom.set(each.userId, request)
          lists.setPresenceOf(each)
        }
      }
    } catch (error) {
      // After a failed request, the presence is fetched again in a minute.
      if (!(error instanceof RequestFailed)) throw error
    }
  }

  const fetchShownPresence = createGathering(fetchPresence)

  return {
    /** Resolves once the people with these ids are loaded. Ids of nobody are ignored. */
    async load(ids: Iterable<string>): Promise<void> {
      const unknown = [...ids].filter((id) => !lists.user(id) && !id.startsWith('webhook:'))
      if (unknown.length > 0) await fetchUsers(unknown)
    },
    /** Keeps the presence of these people up to date until the returned function is called. */
    showPresence(ids: readonly string[]): () => void {
      for (const id of ids) shown.set(id, (shown.get(id) ?? 0) + 1)
      void fetchShownPresence(ids)
      presenceTimer ??= setInterval(() => void fetchPresence([...shown.keys()]), presenceEveryMs)
      return () => {
        for (const id of ids) {
          const others = shown.get(id)! - 1
          if (others > 0) shown.set(id, others)
          else shown.delete(id)
        }
        if (shown.size === 0) stopPresence()
      }
    },
  }
}

/** Returns a function that gathers ids for a moment, and then fetches all of them at once. */
function createGathering(fetch: (ids: readonly string[]) => Promise<void>) {
  let gathered = new Set<string>()
  let fetched: Promise<void> | undefined
  const fetchGathered = () => {
    const ids = [...gathered]
    gathered = new Set()
    fetched = undefined
    return fetch(ids)
  }
  return (ids: readonly string[]): Promise<void> => {
    for (const id of ids) gathered.add(id)
    fetched ??= new Promise<void>((resolve) => setTimeout(resolve, gatherMs)).then(fetchGathered)
    return fetched
  }
}

const slices = (ids: readonly string[]) =>
  Array.from({ length: Math.ceil(ids.length / maxAtOnce) }, (_, n) => ids.slice(n * maxAtOnce, (n + 1) * maxAtOnce))
