import type { WireEvent } from '@parley/contract'

export type Asking = ReturnType<typeof createAsking>

/** Puts answers and events together. */
export function createAsking(closing: AbortSignal) {
  const logs = new Set<WireEvent[]>()

  return {
    /** Every event has to pass here before it is applied to anything. */
    record(event: WireEvent) {
      for (const log of logs) log.push(event)
    },

    /**
     * Sends a request, and collects the events that come until its answer. `merge` gets both, and applies these events
     * to the answer again. When `version` has changed meanwhile, the answer is out of date, and the request is sent
     * once more.
     */
    async ask<T>(get: () => Promise<T>, version: () => unknown, merge: (answer: T, since: WireEvent[]) => void) {
      while (!closing.aborted) {
        const since: WireEvent[] = []
        const asked = version()
        logs.add(since)
        const answer = await get()
          // A request that was refused before may be granted now.
          .catch((error) => {
            if (version() === asked) throw error
          })
          .finally(() => logs.delete(since))
        if (closing.aborted) return
        if (version() !== asked) continue
        return merge(answer as T, since)
      }
    },
  }
}
