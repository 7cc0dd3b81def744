/** Texts that were begun, by person and place, so that they outlive a reload. Signing out forgets them. */
const prefix = 'parley.draft '

export const readDraft = (userId: string, place: string) => localStorage.getItem(`${prefix}${userId} ${place}`) ?? ''

export function keepDraft(userId: string, place: string, text: string) {
  const key = `${prefix}${userId} ${place}`
  if (text === '') localStorage.removeItem(key)
  else localStorage.setItem(key, text)
}

export function forgetDrafts() {
  for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key)
}
