import { readStoredDrafts } from './drafts.ts'

/**
 * Removes what `localStorage` has of a person: drafts, unsaved edits, quotations, unread marks, read positions, unsaved preferences, the
 * choice of emoji and the last open channel. In their keys the id of the person is the second word. What other people have left here stays.
 */
export function forgetStored(userId: string) {
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith('parley.') && key.split(' ')[1] === userId) localStorage.removeItem(key)
  }
  readStoredDrafts()
}
