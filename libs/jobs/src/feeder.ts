import { setTimeout as delay } from 'node:timers/promises'
import { createSignal } from '@parley/events'

export interface Feeder {
  /** Hint that something was recorded. */
  wake(): void
  stop(): Promise<void>
}

export interface FeederOptions {
  /** Moves one batch; answers how many jobs that were. */
  feed(): Promise<number>
  onError(error: unknown): void
}

const pollMs = 1_000
/** Hints come with every message, and most of them are not about jobs. */
const distanceMs = 250

/** Feeds the queue: soon after a hint, every second without one, at once while there is more. */
export function startFeeder({ feed, onError }: FeederOptions): Feeder {
  const signal = createSignal()
  const stopping = new AbortController()

  async function run() {
    while (!stopping.signal.aborted) {
      try {
        if ((await feed()) > 0) continue
      } catch (error) {
        onError(error)
      }
      await delay(distanceMs, undefined, { signal: stopping.signal }).catch(() => {})
      if (!stopping.signal.aborted) await signal.wait(pollMs)
    }
  }
  const running = run()

  return {
    wake: signal.ring,
    async stop() {
      stopping.abort()
      signal.ring()
      await running
    },
  }
}
