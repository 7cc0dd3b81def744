import { signal } from '@preact/signals'

/** Drafts of messages, stored by person and by place or thread, so that they survive a reload. Signing out removes them. */
const prefix = 'parley.draft '
const keyOf = (userId: string, place: string) => `${prefix}${userId} ${place}`

/** The keys of all stored drafts. */
const storedKeys = signal<ReadonlySet<string>>(
  new Set(Object.keys(localStorage).filter((key) => key.startsWith(prefix))),
)
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
export const hasDraft = (userId: string, place: string) => storedKeys.value.has(keyOf(userId, place))

export const readDraft = (userId: string, place: string) => localStorage.getItem(keyOf(userId, place)) ?? ''

/** Stores a draft, or removes it when `text` is empty. @throws DOMException when the browser's storage is full or disabled. */
export function storeDraft(userId: string, place: string, text: string) {
  const key = keyOf(userId, place)
  if (text === '') localStorage.removeItem(key)
  else localStorage.setItem(key, text)
  mark(key, text !== '')
}

/** Calls `onText` when another tab stores a draft for this place, until the returned function is called. */
export function followDraft(userId: string, place: string, onText: (text: string) => void) {
  const key = keyOf(userId, place)
  const listen = (event: StorageEvent) => {
    if (event.key === key) onText(event.newValue ?? '')
  }
  addEventListener('storage', listen)
  return () => removeEventListener('storage', listen)
}

export function forgetDrafts() {
  for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key)
  storedKeys.value = new Set()
}
