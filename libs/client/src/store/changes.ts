import type { Table } from './store.ts'

export type Changes = ReturnType<typeof createChanges>

/**
 * What has changed: by key for whoever shows it, by record for the store. Listeners are called once per turn of the event loop,
 * whatever happened in it.
 */
export function createChanges(onChange: () => void = () => {}) {
  const listeners = new Map<string, Set<() => void>>()
  const touched = new Set<string>()
  /** By table, the ids of records that the store does not have as they are. */
  let unsaved = new Map<Table, Set<string>>()
  let onUnsaved = () => {}
  let isTelling = false

  function tell() {
    isTelling = false
    const keys = [...touched]
    touched.clear()
    for (const key of keys) for (const listener of listeners.get(key) ?? []) listener()
    onChange()
  }

  return {
    /** Something that is shown under this key is different. */
    touch(key: string) {
      touched.add(key)
      if (isTelling) return
      isTelling = true
      queueMicrotask(tell)
    },

    /** The record has to be written, or removed when it is there no longer. */
    save(table: Table, id: string) {
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

/** Whether two values of JSON say the same. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  const [keys, others] = [Object.keys(one), Object.keys(other)]
  return (
    keys.length === others.length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key as keyof object], other[key as keyof object]))
  )
}
