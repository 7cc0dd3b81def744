import { createClient, RequestFailed, tokensInCookie } from '@parley/client'
import { t } from '../texts/texts.ts'
import { tell } from '../ui/problems.ts'
import { address } from './address.ts'
import { storeOf } from './workspace.ts'

/** The pending sign-out: who has signed out here while the server does not know of it. Their cookie works until then. */
const key = 'parley.pending-sign-out'
/** Begins the keys of those whose store is still to be removed. The page may end before it has removed everything. */
const removalPrefix = 'parley.removal '
const retryMs = 2_000
/** Nothing is said about a server that answers within this time. */
const quietMs = 1_500
/** A store that does not answer is waited for no longer, because nobody could sign in meanwhile. */
const removalMs = 3_000

/** What this page signs in with. The refresh token is in a cookie that no script can read. */
export const tokens = tokensInCookie()

let ending: Promise<void> | undefined

export const hasPendingSignOut = () => localStorage.getItem(key) !== null

/** Notes it for this page and every later one. An empty id stands for whoever has the session. */
export function notePendingSignOut(userId: string) {
  localStorage.setItem(key, userId)
  if (userId !== '') localStorage.setItem(removalPrefix + userId, '')
}

/** Removes what earlier pages were to remove and did not. */
export function finishRemovals() {
  for (const each of Object.keys(localStorage))
    if (each.startsWith(removalPrefix)) void removeStored(each.slice(removalPrefix.length))
}

/**
 * Sends nothing while a sign-out is pending. So a reload does not sign the person in again, and it is not the next person's
 * session that is ended.
 */
export const fetchWhenEnded: typeof fetch = async (...request) => {
  if (hasPendingSignOut()) await endSession()
  return fetch(...request)
}

/** Carries out the pending sign-out, and tries again until the server has answered. */
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
    tell(t('You are signed out on this device. The server is told as soon as it can be reached'))
  }, quietMs)
  let ended = await alone(endOnce)
  while (!ended) {
    await new Promise((resolve) => setTimeout(resolve, retryMs))
    ended = await alone(endOnce)
  }
  clearTimeout(timer)
  // Ends the provider's session too. Otherwise the next person at this browser could sign in as this one with a click.
  if (ended.logoutUrl !== undefined && address.value.view !== 'link') location.replace(ended.logoutUrl)
  // The sign-in may be a part of the page that could not be loaded.
  else if (isLate) location.reload()
  else return
  // What waits here would be sent, and its answer lost with this page.
  await new Promise(() => {})
}

/** Answers undefined when the server cannot be reached. */
async function endOnce(): Promise<{ logoutUrl?: string | undefined } | undefined> {
  const userId = localStorage.getItem(key)
  // Another tab was faster.
  if (userId === null) return {}
  if (userId !== '')
    await Promise.race([removeStored(userId), new Promise((resolve) => setTimeout(resolve, removalMs))])
  const leaving = createClient({ baseUrl: '', tokens, ...(userId !== '' && { userId }) })
  try {
    const logoutUrl = await leaving.signOut()
    localStorage.removeItem(key)
    return { logoutUrl }
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error
    return undefined
  }
}

/** When it fails, the next page tries again. */
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

/** One tab at a time, where the browser has Web Locks. Otherwise a slow tab could end the session of the next sign-in. */
function alone<T>(work: () => Promise<T>): Promise<T> {
  const { locks } = navigator as { locks?: LockManager }
  return locks ? locks.request('parley.sign-out', work) : work()
}
