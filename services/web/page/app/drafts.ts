import { signal } from '@preact/signals'
import { reportStorageFailure } from '../ui/problems.ts'

/**
 * Drafts of messages, stored by person and by channel, conversation or thread, so that they survive a reload. `forgetStored` removes those of
 * a person who signs out. The id of a draft is that of its channel or conversation, and in a thread also the id of the parent.
 */
const prefix = 'parley.draft '
const keyOf = (userId: string, draftId: string) => `${prefix}${userId} ${draftId}`

export const draftIdOf = (channelId: string, threadId?: string) =>
  threadId === undefined ? channelId : `${channelId} ${threadId}`

/** The keys of all stored drafts: a prefix, the id of the person, and the id of the draft. */
export const storedKeys = signal<ReadonlySet<string>>(new Set())
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
export const hasDraft = (userId: string, draftId: string) => storedKeys.value.has(keyOf(userId, draftId))

export const readDraft = (userId: string, draftId: string) => localStorage.getItem(keyOf(userId, draftId)) ?? ''

/** Stores a draft, or removes it when `text` is empty. The person is told when the browser's storage is full or disabled. */
export function storeDraft(userId: string, draftId: string, text: string) {
  const key = keyOf(userId, draftId)
  try {
    if (text === '') localStorage.removeItem(key)
    else localStorage.setItem(key, text)
    mark(key, text !== '')
  } catch (error) {
    reportStorageFailure(error)
  }
}

/** Calls `onText` when another tab stores the same draft, until the returned function is called. */
export function followDraft(userId: string, draftId: string, onText: (text: string) => void) {
  const key = keyOf(userId, draftId)
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
