import { createClient, RequestFailed, tokensInCookie } from '@parley/client'
import { t } from '../texts/texts.ts'
import { withLock } from '../ui/locks.ts'
import { pause } from '../ui/pause.ts'
import { showProblem } from '../ui/problems.ts'
import { address } from './address.ts'
import { fetchInTime } from './fetch-in-time.ts'
import { storeOf } from './stores.ts'

/** The id of a person who has signed out while the server does not know it yet. Their cookie is valid until then. */
const pendingKey = 'parley.pending-sign-out'
/** The prefix of the keys of people whose store must still be removed. The page may be closed before that is done. */
const removalPrefix = 'parley.removal '
const retryMs = 2_000
/** The person is informed when the server has not responded after this time. */
const noticeMs = 1_500
/** The longest wait for the removal of a store, because nobody can sign in meanwhile. */
const removalMs = 3_000

/**
 * The tokens of this page, for its client (`session.ts`) and for the one that signs out here. The refresh token is in a cookie that scripts
 * cannot read.
 */
export const tokens = tokensInCookie()

let ending: Promise<void> | undefined

export const hasPendingSignOut = () => localStorage.getItem(pendingKey) !== null

/** Records the sign-out for this page and later ones. An empty id means the person of the current session, who is not known. */
export function notePendingSignOut(userId: string) {
  localStorage.setItem(pendingKey, userId)
  if (userId !== '') localStorage.setItem(removalPrefix + userId, '')
}

/** Calls the listener when somebody signs out in another tab. */
export function onSignOutElsewhere(listener: (userId: string) => void) {
  addEventListener('storage', ({ key, newValue }) => {
    if (key === pendingKey && newValue !== null) listener(newValue)
  })
}

/** Removes the stores that earlier pages did not finish removing. */
export function finishRemovals() {
  for (const each of Object.keys(localStorage))
    if (each.startsWith(removalPrefix)) void removeStored(each.slice(removalPrefix.length))
}

/**
 * Waits until no sign-out is pending, and then sends the request. So a reload does not sign the person in again, and the sign-out does
 * not end the session of the next person.
 */
export const fetchAfterSignOut: typeof fetch = async (...request) => {
  if (hasPendingSignOut()) await endSession()
  return fetchInTime(...request)
}

/** Sends the pending sign-out, and retries until the server has responded. */
export function endSession(): Promise<void> {
  ending ??= tryUntilEnded().finally(() => {
    ending = undefined
  })
  return ending
}

async function tryUntilEnded() {
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    showProblem(t('You are signed out on this device. The server is told as soon as it can be reached'))
  }, noticeMs)
  let ended = await tryToEnd()
  while (!ended) {
    await pause(retryMs)
    ended = await tryToEnd()
  }
  clearTimeout(timer)
  // Ends the session of the sign-in provider too. Otherwise the next person could sign in as this person with one click.
  if (ended.logoutUrl !== undefined && address.value.view !== 'link') location.replace(ended.logoutUrl)
  // The sign-in may be a part of the page that could not be loaded without a network.
  else if (isLate) location.reload()
  else return
  // The page is being replaced. Requests that wait for this function must not be sent, because their responses would be lost.
  await new Promise(() => {})
}

/** Tries in one tab at a time. Otherwise a slow tab could end the session of the next sign-in. */
const tryToEnd = () => withLock('parley.sign-out', endOnce)

/** Tries to sign out once. Returns undefined when the server cannot be reached. */
async function endOnce(): Promise<{ logoutUrl?: string | undefined } | undefined> {
  const userId = localStorage.getItem(pendingKey)
  // Another tab has signed out already.
  if (userId === null) return {}
  if (userId !== '') await Promise.race([removeStored(userId), pause(removalMs)])
  // A client of its own: the requests of the client of the page wait for this one (`fetchAfterSignOut`).
  const client = createClient({ baseUrl: '', tokens, ...(userId !== '' && { userId }) })
  try {
    const logoutUrl = await client.signOut()
    localStorage.removeItem(pendingKey)
    return { logoutUrl }
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error
    return undefined
  }
}

/** Removes the store of a person. When it fails, the next page tries again. */
async function removeStored(userId: string) {
  const store = storeOf(userId)
  try {
    await store.wipe('everything')
    localStorage.removeItem(removalPrefix + userId)
  } catch (error) {
    reportError(error)
  } finally {
    store.close()
  }
}
