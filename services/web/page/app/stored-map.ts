import { signal } from '@preact/signals'
import { reportStorageFailure } from '../ui/problems.ts'
import { readStoredValue } from '../ui/stored-value.ts'

/**
 * A map by channel or conversation, stored in this browser for all its tabs. Components that read it render again when it changes.
 * `forgetStored` removes it at a sign-out. Stored values that `isValue` does not accept are skipped.
 */
export function createStoredMap<Value extends object>(
  /**
   * Unread marks, quotations, unsaved preferences (`set`), unsaved edits, and read positions that are not sent yet. Browsers have values by
   * these names already, so the names do not change.
   */
  name: 'unread' | 'quoted' | 'set' | 'edited' | 'read',
  userId: string,
  isValue: (value: unknown) => value is Value,
) {
  const key = `parley.${name} ${userId}`
  const map = signal(read())
  const listen = (event: StorageEvent) => {
    if (event.key === key) map.value = read()
  }
  addEventListener('storage', listen)

  /** Skips what another version or another program has stored in another form. */
  function read(): ReadonlyMap<string, Value> {
    const entries = readStoredValue(key)
    return new Map(Array.isArray(entries) ? entries.filter(isEntry) : [])
  }
  function isEntry(entry: unknown): entry is [string, Value] {
    return Array.isArray(entry) && typeof entry[0] === 'string' && isValue(entry[1])
  }

  return {
    all: () => map.value,
    /** Stores a value, or removes it when it is undefined. */
    set(id: string, value: Value | undefined) {
      const next = new Map(read())
      if (value) next.set(id, value)
      else if (!next.delete(id)) return
      map.value = next
      try {
        localStorage.setItem(key, JSON.stringify([...next]))
      } catch (error) {
        reportStorageFailure(error)
      }
    },
    close: () => removeEventListener('storage', listen),
  }
}
