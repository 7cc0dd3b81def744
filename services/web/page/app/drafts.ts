import { signal } from '@preact/signals'

/**
 * Drafts of messages, stored by person and by channel, conversation or thread, so that they survive a reload. `forgetStored` removes those of
 * a person who signs out.
 */
const prefix = 'parley.draft '
const keyOf = (userId: string, destinationId: string) => `${prefix}${userId} ${destinationId}`

/** The keys of all stored drafts. */
const storedKeys = signal<ReadonlySet<string>>(new Set())
readStoredDrafts()
addEventListener('storage', ({ key, newValue }) => {
  if (key?.startsWith(prefix)) mark(key, newValue !== null)
})

function mark(key: string, isStored: boolean) {
  if (storedKeys.peek().has(key) === isStored) return
  const next = new Set(storedKeys.peek())
  if (isStored) next.add(key)
  else next.delete(key)
  storedKeys.value = next
}

/** Components that read it render again when it changes. */
export const hasDraft = (userId: string, destinationId: string) => storedKeys.value.has(keyOf(userId, destinationId))

export const readDraft = (userId: string, destinationId: string) =>
  localStorage.getItem(keyOf(userId, destinationId)) ?? ''

/** Stores a draft, or removes it when `text` is empty. @throws DOMException when the browser's storage is full or disabled. */
export function storeDraft(userId: string, destinationId: string, text: string) {
  const key = keyOf(userId, destinationId)
  if (text === '') localStorage.removeItem(key)
  else localStorage.setItem(key, text)
  mark(key, text !== '')
}

/** Calls `onText` when another tab stores a draft for the same destination, until the returned function is called. */
export function followDraft(userId: string, destinationId: string, onText: (text: string) => void) {
  const key = keyOf(userId, destinationId)
  const listen = (event: StorageEvent) => {
    if (event.key === key) onText(event.newValue ?? '')
  }
  addEventListener('storage', listen)
  return () => removeEventListener('storage', listen)
}

/** Call it when drafts were removed at once. */
export function readStoredDrafts() {
  storedKeys.value = new Set(Object.keys(localStorage).filter((key) => key.startsWith(prefix)))
}
