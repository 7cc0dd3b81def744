import { signal } from '@preact/signals'

/** Texts that were begun, by person and place, so that they outlive a reload. Signing out forgets them. */
const prefix = 'parley.draft '
const keyOf = (userId: string, place: string) => `${prefix}${userId} ${place}`

/** The keys of those that there are. */
const kept = signal<ReadonlySet<string>>(new Set(Object.keys(localStorage).filter((key) => key.startsWith(prefix))))
addEventListener('storage', ({ key, newValue }) => {
  if (key?.startsWith(prefix)) mark(key, newValue !== null)
})

function mark(key: string, isThere: boolean) {
  if (kept.peek().has(key) === isThere) return
  const next = new Set(kept.peek())
  if (isThere) next.add(key)
  else next.delete(key)
  kept.value = next
}

/** Components render again when it changes. */
export const hasDraft = (userId: string, place: string) => kept.value.has(keyOf(userId, place))

export const readDraft = (userId: string, place: string) => localStorage.getItem(keyOf(userId, place)) ?? ''

/** @throws DOMException when the browser's storage is full or switched off. */
export function keepDraft(userId: string, place: string, text: string) {
  const key = keyOf(userId, place)
  if (text === '') localStorage.removeItem(key)
  else localStorage.setItem(key, text)
  mark(key, text !== '')
}

/** Calls back with the text that another tab has kept for this place, until the answered function is called. */
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
  kept.value = new Set()
}
