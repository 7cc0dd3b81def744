import type { User } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { attempt } from '../ui/problems.ts'

const pageSize = 50
const searchAfterMs = 150

/** The people that match the filter, kept up to date by events. */
export function useFoundPeople(workspace: Workspace) {
  const { client } = workspace
  const query = useSignal('')
  /** Undefined until the first response. */
  const people = useSignal<readonly User[] | undefined>(undefined)
  const hasMore = useSignal(false)
  /** The ids of all people who were changed or removed, in this order. */
  const changes = useRef<string[]>([])
  /** The number of people who were added. */
  const added = useRef(0)

  async function load(after?: string): Promise<void> {
    const q = query.value.trim()
    const before = changes.current.length
    const { current: addedBefore } = added
    const page = await attempt(q === '' ? list(after) : find(q))
    // The text was changed meanwhile, so these people belong to the previous one.
    if (!page || q !== query.value.trim()) return
    // The first page begins with the newest person, and may lack somebody who was added meanwhile.
    if (!after && addedBefore !== added.current) return load()
    // Somebody was changed meanwhile, and the page may have the old values.
    const changed = new Set(changes.current.slice(before))
    if (page.users.some(({ id }) => changed.has(id))) return load(after)
    const shown = after ? (people.value ?? []) : []
    // New people are shown already, at the top.
    const known = new Set(shown.map(({ id }) => id))
    people.value = [...shown, ...page.users.filter(({ id }) => !known.has(id))]
    hasMore.value = page.hasMore
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
  function change(id: string, changed: (user: User) => User) {
    changes.current.push(id)
    people.value = people.value?.map((user) => (user.id === id ? changed(user) : user))
  }

  useEffect(() => {
    const timer = setTimeout(() => void load(), query.value === '' ? 0 : searchAfterMs)
    return () => clearTimeout(timer)
  }, [query.value])
  useEffect(
    () =>
      workspace.listen(({ type, payload }) => {
        if (type === 'NEW_USER') {
          added.current++
          if (query.value === '') people.value = [payload, ...(without(people.value, payload.id) ?? [])]
        }
        if (type === 'UPDATE_USER') change(payload.id, (user) => ({ ...user, ...payload }))
        if (type === 'REMOVE_USER' || type === 'USER_EXIT') {
          changes.current.push(payload.id)
          people.value = without(people.value, payload.id)
        }
      }),
    [],
  )
  return { query, people, hasMore, load, change }
}

const without = (people: readonly User[] | undefined, id: string) => people?.filter((user) => user.id !== id)
