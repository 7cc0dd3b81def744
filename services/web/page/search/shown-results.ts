import type { Message, WireEvent } from '@parley/contract'
import { computed, type Signal, signal } from '@preact/signals'
import { dropOldest } from '../app/drop-oldest.ts'
import type { Workspace } from '../app/workspace.ts'

/** The results of one search, and how far the person has scrolled. */
interface ShownResults {
  found: Signal<readonly Message[] | undefined>
  hasMore: Signal<boolean>
  scrollTop: number
}

/** The number of searches whose results are kept, for "back". */
const maxKept = 5

/** The results of the last searches, by entry of the browser's history. */
const kept = new WeakMap<Workspace, Map<number, ShownResults>>()

/** The results of the search at this entry of the browser's history. They are empty for a new search. */
export function resultsOf(workspace: Workspace): ShownResults {
  const all = kept.get(workspace) ?? followEvents(workspace)
  const visit = currentVisit()
  const results = all.get(visit) ?? { found: signal(undefined), hasMore: signal(false), scrollTop: 0 }
  all.set(visit, results)
  dropOldest(all, maxKept)
  return results
}

/** The id of this entry of the browser's history. "Back" returns to the same entry, and every new search has another one. */
function currentVisit(): number {
  const known: unknown = history.state?.visit
  if (typeof known === 'number') return known
  const visit = Math.random()
  history.replaceState({ visit }, '')
  return visit
}

function followEvents(workspace: Workspace) {
  const all = new Map<number, ShownResults>()
  kept.set(workspace, all)
  workspace.listen((event) => {
    for (const { found } of all.values()) found.value = found.value && apply(event, found.value)
  })
  // With another role the person may read other channels, and there are no events about them.
  const role = computed(() => workspace.me.value.role)
  role.subscribe(() => {
    for (const { found, hasMore } of all.values()) {
      found.value = undefined
      hasMore.value = false
    }
  })
  return all
}

/** The results without messages that were deleted or that the person may not read any more, and with the present text of edited ones. */
function apply({ type, payload }: WireEvent, found: readonly Message[]): readonly Message[] {
  switch (type) {
    case 'DELETE_CHANNEL':
      return found.filter(({ channelId }) => channelId !== payload.id)
    case 'DELETE_MESSAGE':
    case 'DELETE_DM_MESSAGE':
    case 'DELETE_THREAD_REPLY':
      return found.filter(({ id }) => id !== payload.id)
    case 'UPDATE_MESSAGE':
    case 'UPDATE_DM_MESSAGE':
    case 'UPDATE_THREAD_REPLY':
      return found.map((message) => (message.id === payload.id && payload.rev > message.rev ? payload : message))
    default:
      return found
  }
}
