import type { User } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useFetched } from '../app/fetched.tsx'
import type { Workspace } from '../app/workspace.ts'
import { attempt } from '../ui/problems.ts'

const pageSize = 50
const searchAfterMs = 150

interface Found {
  users: readonly User[]
  hasMore: boolean
}

/** The people that match the filter, kept up to date by events. */
export function useFoundPeople(workspace: Workspace) {
  const { client } = workspace
  const query = useSignal('')
  const data = useFetched(() => fetchPage())
  const { fetched, load } = data
  /** The ids of all people who were changed or removed, in this order. */
  const changes = useRef<string[]>([])
  /** The number of people who were added. */
  const added = useRef(0)

  /** The people that are shown and the next page, or the first page. Undefined when the text was changed meanwhile. */
  async function fetchPage(after?: string): Promise<Found | undefined> {
    const q = query.value.trim()
    const before = changes.current.length
    const { current: addedBefore } = added
    const page = await (q === '' ? list(after) : find(q))
    if (q !== query.value.trim()) return undefined
    // The first page begins with the newest person, and may lack somebody who was added meanwhile.
    if (!after && addedBefore !== added.current) return fetchPage()
    // Somebody was changed meanwhile, and the page may have the old values.
    const changed = new Set(changes.current.slice(before))
    if (page.users.some(({ id }) => changed.has(id))) return fetchPage(after)
    const shown = after ? fetched.value!.users : []
    // New people are shown already, at the top.
    const known = new Set(shown.map(({ id }) => id))
    return { users: [...shown, ...page.users.filter(({ id }) => !known.has(id))], hasMore: page.hasMore }
  }
  async function showMore() {
    const page = await attempt(fetchPage(fetched.value!.users.at(-1)!.id))
    if (page) fetched.value = page
  }
  const list = (after?: string) => client.request('GET /users', { query: { limit: pageSize, ...(after && { after }) } })
  /** Finds people by a text, the deactivated ones last. There are no further pages. To get fewer results, the person types more. */
  async function find(q: string) {
    const query = { q, limit: pageSize }
    const pages = await Promise.all([
      client.request('GET /users', { query }),
      client.request('GET /users', { query: { ...query, isActive: 'false' } }),
    ])
    return { users: pages.flatMap(({ users }) => users), hasMore: false }
  }
  function update(updated: (users: readonly User[]) => readonly User[]) {
    const { value: found } = fetched
    if (found) fetched.value = { ...found, users: updated(found.users) }
  }
  function change(id: string, changed: (user: User) => User) {
    changes.current.push(id)
    update((users) => users.map((user) => (user.id === id ? changed(user) : user)))
  }

  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  function search(text: string) {
    query.value = text
    clearTimeout(timer.current)
    timer.current = setTimeout(load, searchAfterMs)
  }
  useEffect(() => () => clearTimeout(timer.current), [])
  useEffect(
    () =>
      workspace.listen(({ type, payload }) => {
        if (type === 'NEW_USER') {
          added.current++
          if (query.value === '') update((users) => [payload, ...without(users, payload.id)])
        }
        if (type === 'UPDATE_USER') change(payload.id, (user) => ({ ...user, ...payload }))
        if (type === 'REMOVE_USER' || type === 'USER_EXIT') {
          changes.current.push(payload.id)
          update((users) => without(users, payload.id))
        }
      }),
    [],
  )
  return { data, query: query.value, search, showMore, change }
}

const without = (users: readonly User[], id: string) => users.filter((user) => user.id !== id)
