import type { Client } from '../client/client.ts'
import { RequestFailed } from '../requests/request-failed.ts'
import type { Lists } from './lists.ts'

/** Asks, and applies the events since then once more to what was answered. */
type Take = <T>(get: () => Promise<T>, set: (answer: T) => void) => Promise<void>

/** What a client fetches that keeps every person and channel: loaded with `scope: 'all'` alone. */
export function createWholeLists(client: Client, lists: Lists, take: Take) {
  const people = () =>
    take(
      () => client.request('GET /users'),
      ({ users }) => lists.setUsers(users),
    )
  const listPresence = () => client.request('GET /presence').then(({ presence }) => presence, noneIf(404))
  const presence = () => take(listPresence, lists.setPresence)
  const listWebhooks = () => client.request('GET /webhooks').then(({ webhooks }) => webhooks, noneIf(403))
  const webhooks = () => take(listWebhooks, lists.setWebhooks)
  const listPlaces = () =>
    Promise.all([
      client.request('GET /auth/me'),
      client.request('GET /channels'),
      client.request('GET /conversations'),
      client.request('GET /server/settings'),
    ])
  const places = () =>
    take(listPlaces, ([{ user, groups }, { channels }, { conversations }, { name }]) => {
      lists.setMe({ ...user, groups })
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
