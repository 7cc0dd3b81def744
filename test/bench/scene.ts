/**
 * What one measurement stands on, undone in the opposite order. On Ctrl-C it is undone under the measurement's feet:
 * from then on nothing more can be started, so that nothing is left running.
 */
export interface Scene {
  /** Starts something and registers how to end it. @throws when the scene is being undone. */
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
      // What is being started has to be there before it can be ended.
      ending ??= Promise.allSettled(starting).then(() => stack.disposeAsync())
      return ending
    },
  }
}

/** Thrown to whoever goes on after Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}
