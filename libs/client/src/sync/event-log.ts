import type { WireEvent } from '@parley/contract'

export type EventLog = ReturnType<typeof createEventLog>

/** Records events while requests are running, so that they can be applied to the responses. */
export function createEventLog(closing: AbortSignal) {
  const logs = new Set<WireEvent[]>()

  return {
    /** Call it with every event, before the event is applied to any data. */
    record(event: WireEvent) {
      for (const log of logs) log.push(event)
    },

    /**
     * Sends a request, and records the events that come before its response. `merge` gets the response and these events, and applies the
     * events to the response. When `version` has changed meanwhile, the response is outdated, and the request is sent again.
     */
    async fetchWithEvents<T>(
      get: () => Promise<T>,
      version: () => unknown,
      merge: (response: T, since: WireEvent[]) => void,
    ) {
      while (!closing.aborted) {
        const since: WireEvent[] = []
        const versionBefore = version()
        logs.add(since)
        const response = await get()
          // With a new version the request is sent again, so this error does not matter.
          .catch((error) => {
            if (version() === versionBefore) throw error
          })
          .finally(() => logs.delete(since))
        if (closing.aborted) return
        if (version() !== versionBefore) continue
        return merge(response as T, since)
      }
    },
  }
}
