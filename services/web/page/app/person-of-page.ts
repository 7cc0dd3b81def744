/** In `localStorage`: the id of the person who is signed in in this browser. It grants no access. */
const key = 'parley.person'

/**
 * Who is signed in on this page, and who was before. `localStorage` notes the person for the other tabs, and for the next start, which
 * shows their stored data before the first response.
 */
export function createPersonOfPage() {
  let currentId: string | undefined
  let leftId: string | undefined
  let signedOutId: string | undefined

  /** Removes the note, but not that of somebody who has signed in in another tab meanwhile. */
  function removeNote() {
    if (localStorage.getItem(key) === currentId) localStorage.removeItem(key)
  }

  return {
    /** The person who is here. */
    id: () => currentId,
    /** The person who was here before. */
    leftId: () => leftId,
    /** The noted person. Undefined when the note is no id: the page would end the session of the cookie for it. */
    notedId(): string | undefined {
      const noted = localStorage.getItem(key)
      return noted !== null && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(noted) ? noted : undefined
    },
    removeNote,

    arrive(userId: string) {
      currentId = userId
      signedOutId = undefined
      localStorage.setItem(key, userId)
    },
    /** Returns who has left. Undefined when nobody was here. */
    leave(): string | undefined {
      removeNote()
      const userId = currentId
      leftId = userId ?? leftId
      currentId = undefined
      return userId
    },
    /** The person has signed out, here or in another tab. Otherwise a session ends by itself. */
    noteSignOut(userId: string) {
      signedOutId = userId
    },
    hasSignedOut: (userId: string) => userId === signedOutId,

    /** Calls the listener when somebody who is not here signs in in another tab. */
    onOtherArrival(listener: (userId: string) => void) {
      addEventListener('storage', ({ key: changed, newValue }) => {
        if (changed === key && newValue !== null && newValue !== currentId) listener(newValue)
      })
    },
  }
}
