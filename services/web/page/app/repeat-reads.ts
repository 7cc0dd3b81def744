import { computed, effect, untracked } from '@preact/signals'
import type { Workspace } from './workspace.ts'

/** The pause before the next try after a failure. */
const retryMs = 5_000

/**
 * Sends what the server does not know of how far the person has read: whenever the server can be reached again, and from time to time
 * after failures. Returns a function that ends it.
 */
export function repeatReads({ connection, readSender }: Workspace): () => void {
  const isWaiting = computed(() => readSender.unsent().size > 0)
  return effect(() => {
    if (connection.value !== 'live') return
    untracked(readSender.sendAll)
    return effect(() => {
      if (!isWaiting.value) return
      const timer = setInterval(readSender.sendAll, retryMs)
      return () => clearInterval(timer)
    })
  })
}
