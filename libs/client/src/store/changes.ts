import type { Table } from './store.ts'

export type Changes = ReturnType<typeof createChanges>

/**
 * Collects changes: by key for the listeners that render data, and by record for the store. Each listener is called at most once per
 * turn of the event loop.
 */
export function createChanges(onChange: () => void = () => {}) {
  const listeners = new Map<string, Set<() => void>>()
  const touched = new Set<string>()
  /** The ids of records that differ from the stored ones, by table. */
  let unsaved = new Map<Table, Set<string>>()
  let onUnsaved = () => {}
  let isScheduled = false

  function notify() {
    isScheduled = false
    const keys = [...touched]
    touched.clear()
    for (const key of keys) for (const listener of listeners.get(key) ?? []) listener()
    onChange()
  }

  return {
    /** Marks the data of this key as changed, and notifies its listeners at the end of the turn. */
    touch(key: string) {
      touched.add(key)
      if (isScheduled) return
      isScheduled = true
      queueMicrotask(notify)
    },

    /** Marks a record as unsaved. The next transaction writes it, or removes it if it does not exist any more. */
    markUnsaved(table: Table, id: string) {
      const ids = unsaved.get(table) ?? new Set()
      unsaved.set(table, ids.add(id))
      onUnsaved()
    },
    whenUnsaved(listener: () => void) {
      onUnsaved = listener
    },
    takeUnsaved() {
      const taken = unsaved
      unsaved = new Map()
      return taken
    },

    subscribe(key: string, listener: () => void): () => void {
      const known = listeners.get(key) ?? new Set()
      listeners.set(key, known.add(listener))
      return () => {
        known.delete(listener)
        if (known.size === 0 && listeners.get(key) === known) listeners.delete(key)
      }
    },
  }
}
