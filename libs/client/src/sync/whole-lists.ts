import type { Client } from '../client/client.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import type { Lists } from './lists.ts'

/** Fetches a listing, sets it, and applies the events that came during the request. */
type FetchAndSet = <T>(get: () => Promise<T>, set: (response: T) => void) => Promise<void>

/** Fetches the lists of all people and channels. This module is only loaded with `scope: 'all'`. */
export function createWholeLists(client: Client, lists: Lists, fetchAndSet: FetchAndSet) {
  const people = () =>
    fetchAndSet(
      () => client.request('GET /users'),
      ({ users }) => lists.setUsers(users),
    )
  const listPresence = () => client.request('GET /presence').then(({ presence }) => presence, noneIf(404))
  const presence = () => fetchAndSet(listPresence, lists.setPresence)
  const listWebhooks = () => client.request('GET /webhooks').then(({ webhooks }) => webhooks, noneIf(403))
  const webhooks = () => fetchAndSet(listWebhooks, lists.setWebhooks)
  const listPlaces = () =>
    Promise.all([
      client.request('GET /auth/me'),
      client.request('GET /channels'),
      client.request('GET /conversations'),
      client.request('GET /server/settings'),
    ])
  const places = () =>
    fetchAndSet(listPlaces, ([{ user, ...mine }, { channels }, { conversations }, { name }]) => {
      lists.setMe({ ...user, ...mine })
      lists.setChannels(channels)
      lists.setConversations(conversations)
      lists.setSettings(name)
    })

  return {
    people,
    presence,
    webhooks,
    async everything() {
      await Promise.all([places(), people(), presence()])
      if (lists.me().isAdmin) await webhooks()
      else lists.setWebhooks([])
    },
  }
}

const noneIf = (status: number) => (error: unknown) => {
  if (error instanceof RequestFailed && error.status === status) return []
  throw error
}
