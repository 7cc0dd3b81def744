import { computed, effect } from '@preact/signals'
import type { Workspace } from '../app/workspace.ts'

/** The server accepts at most this number of people in one request for presence. */
const maxPresent = 200

/** Keeps the presence of the people in the list of direct messages up to date. Returns a function that ends it. */
export function showPresence(workspace: Workspace): () => void {
  const ids = computed(() => {
    const people = workspace.conversations().map(({ otherUser }) => otherUser.id)
    return people.slice(0, maxPresent).sort().join()
  })
  return effect(() => (ids.value === '' ? undefined : workspace.showPresence(ids.value.split(','))))
}
