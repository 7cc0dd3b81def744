import type { Client } from '@parley/client'
import type { Group, WireEvent } from '@parley/contract'
import { signal } from '@preact/signals'
import { ignoreFailure } from '../ui/retries.ts'

export type Groups = ReturnType<typeof createGroups>
type GroupEvent = Extract<WireEvent, { type: 'NEW_GROUP' | 'UPDATE_GROUP' | 'DELETE_GROUP' }>

const prefix = 'group:'
export const isOfGroup = (mention: string) => mention.startsWith(prefix)

/**
 * The groups of this server, kept up to date by events. They are fetched when a text mentions a group, when somebody begins to type a
 * mention, or when an admin opens the list. Guests have no groups.
 */
export function createGroups(client: Client, isGuest: () => boolean) {
  /** Undefined until the groups were fetched. */
  const byId = signal<ReadonlyMap<string, Group> | undefined>(undefined)
  let loading: Promise<void> | undefined
  let missed: GroupEvent[] = []
  /** Whether the groups are up to date. `generation` increases each time when they become outdated. */
  let isCurrent = false
  let generation = 0

  function load(): Promise<void> {
    if (isCurrent || isGuest()) return Promise.resolve()
    loading ??= fetchAll()
      .catch(ignoreFailure)
      .finally(() => {
        loading = undefined
      })
    return loading
  }

  async function fetchAll() {
    const begun = generation
    missed = []
    const { groups } = await client.request('GET /groups')
    byId.value = new Map(groups.map((group) => [group.id, group]))
    isCurrent = begun === generation
    missed.forEach(change)
  }

  function change({ type, payload }: GroupEvent) {
    const next = new Map(byId.value)
    if (type === 'DELETE_GROUP') next.delete(payload.id)
    else next.set(payload.id, payload)
    byId.value = next
  }

  return {
    load,
    /** Call it when events may have been missed. The groups are fetched again when they are needed. */
    forget() {
      isCurrent = false
      generation++
    },
    apply(event: WireEvent) {
      if (event.type !== 'NEW_GROUP' && event.type !== 'UPDATE_GROUP' && event.type !== 'DELETE_GROUP') return
      if (loading) missed.push(event)
      if (isCurrent) change(event)
    },
    all: () => [...(byId.value?.values() ?? [])],
    isKnown: () => byId.value !== undefined,
    /** The group of a mention. Undefined for other mentions, and until the groups are loaded. */
    mentioned: (mention: string) => (isOfGroup(mention) ? byId.value?.get(mention.slice(prefix.length)) : undefined),
  }
}
