import { signal } from '@preact/signals'
import { reportStorageFailure } from '../ui/problems.ts'

const keyPattern = /^parley\.(unread|quoted) /

/**
 * A map by channel or conversation, stored in this browser for all its tabs. Components that read it render again when it changes.
 * Signing out removes it.
 */
export function createStoredMap<Value extends object>(name: 'unread' | 'quoted', userId: string) {
  const key = `parley.${name} ${userId}`
  const map = signal(read())
  const listen = (event: StorageEvent) => {
    if (event.key === key) map.value = read()
  }
  addEventListener('storage', listen)

  /** Skips what an earlier version stored in another form. */
  function read(): ReadonlyMap<string, Value> {
    const entries = JSON.parse(localStorage.getItem(key) ?? '[]') as [string, Value][]
    return new Map(entries.filter(([, value]) => typeof value === 'object'))
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

export function forgetStoredMaps() {
  for (const key of Object.keys(localStorage)) if (keyPattern.test(key)) localStorage.removeItem(key)
}
