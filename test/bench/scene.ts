/**
 * The servers and connections that one measurement has started. They are ended in the opposite order. On Ctrl-C they
 * are ended while the measurement still runs; from then on nothing more can be started, so nothing is left running.
 */
export interface Scene {
  /** Starts something and registers how to end it. @throws when the scene is being ended. */
  keep<T>(start: () => T | Promise<T>, end: (started: T) => unknown): Promise<T>
  end(): Promise<void>
}

export function openScene(): Scene {
  const stack = new AsyncDisposableStack()
  const starting = new Set<Promise<unknown>>()
  let ending: Promise<void> | undefined
  const requireOpen = () => {
    if (ending) throw new Interrupted()
  }

  async function startAndKeep<T>(start: () => T | Promise<T>, end: (started: T) => unknown): Promise<T> {
    const started = await start()
    stack.defer(async () => void (await end(started)))
    return started
  }

  return {
    async keep(start, end) {
      requireOpen()
      const kept = startAndKeep(start, end)
      starting.add(kept)
      const started = await kept.finally(() => starting.delete(kept))
      requireOpen()
      return started
    },
    end() {
      // Something that is still starting can only be ended once it has started.
      ending ??= Promise.allSettled(starting).then(() => stack.disposeAsync())
      return ending
    },
  }
}

/** Thrown by `keep` after Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}
