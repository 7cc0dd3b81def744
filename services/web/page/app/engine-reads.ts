import type { SyncEngine } from '@parley/client'
import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { RenderQueue } from './render-queue.ts'

export type EngineReads = ReturnType<typeof createEngineReads>

/** Reads data of the sync engine. Whatever reads them, such as a component, runs again when the data of their key have changed. */
export function createEngineReads({ subscribe }: Pick<SyncEngine, 'subscribe'>, renderQueue: RenderQueue) {
  /**
   * A counter of changes for each key that a component reads at this moment. Counters of other keys are removed, because a page that is
   * open for weeks shows very many messages one after the other.
   */
  const versions = new Map<string, Signal<number>>()
  /** Reads data from the engine. The component that reads them renders again when the data of the key change. */
  function read<T>(key: string, get: () => T): T {
    const version = versions.get(key) ?? createVersion(key)
    // Reading the signal makes the component render again when the signal changes.
    void version.value
    return get()
  }
  function createVersion(key: string): Signal<number> {
    let unsubscribe = () => {}
    const version = signal(0, {
      watched() {
        versions.set(key, version)
        const render = () => void version.value++
        unsubscribe = subscribe(key, () => {
          renderQueue.add(render)
          // A message that the person sends is shown immediately.
          if (key.startsWith('outbox')) renderQueue.flush()
        })
      },
      unwatched() {
        versions.delete(key)
        unsubscribe()
      },
    })
    return version
  }
  /** Renders the components again that read the data of the key. */
  function touch(key: string) {
    const version = versions.get(key)
    if (version) version.value++
  }
  /** A signal with data of the engine. It is subscribed as long as the workspace exists, so it can be read at any time. */
  function keep<T>(key: string, get: () => T): ReadonlySignal<T> {
    const current = signal(get())
    subscribe(key, () => {
      current.value = get()
    })
    return current
  }

  return { read, touch, keep }
}
