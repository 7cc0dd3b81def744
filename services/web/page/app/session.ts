import { type Client, createClient, RequestFailed } from '@parley/client'
import { effect, signal } from '@preact/signals'
import { forgetEmoji } from '../emoji/emoji-choice.ts'
import { address, navigate } from './address.ts'
import { forgetDrafts } from './drafts.ts'
import {
  endSession,
  fetchWhenEnded,
  finishRemovals,
  hasPendingSignOut,
  notePendingSignOut,
  tokens,
} from './sign-out.ts'
import { forgetUnreadMarks } from './unread-marks.ts'
import { createWorkspace, storeOf, type Workspace } from './workspace.ts'

export type SessionState =
  | { state: 'starting' | 'unreachable' }
  | { state: 'signed-out' }
  /** The server requires a second factor, and the person has none: they can do nothing but set one up. */
  | { state: 'enrolling' }
  | { state: 'signed-in'; workspace: Workspace }

export const session = signal<SessionState>({ state: 'starting' })

/** Who is signed in on this browser: their store can be shown before the server answers. It opens nothing. */
const personKey = 'parley.person'
/** Who is signed in on this page. */
let myId: string | undefined

/**
 * The one client of this page. When the cookie is somebody else's by now, the session ends instead of showing or sending anything
 * as them.
 */
export const client: Client = createClient({
  baseUrl: '',
  userId: localStorage.getItem(personKey) ?? undefined,
  tokens,
  fetch: fetchWhenEnded,
  onSignedOut: leave,
})

const retryMs = 2_000
/** So long a sign-out waits at most before it is seen. */
const flushMs = 1_000

/** The server marks a browser that has a session cookie, so that a first visit need not ask for one in vain. */
const mayHaveSession = () => /(?:^|; )(?:__Secure-)?parley_signed_in=/.test(document.cookie)

/**
 * Goes on with the session of the cookie, if there is one: at once with what this browser keeps of the person. A link of a mail begins
 * another session.
 */
export async function startSession(): Promise<void> {
  finishRemovals()
  if (hasPendingSignOut() || address.value.view === 'link') return leave()
  const known = localStorage.getItem(personKey)
  if (known !== null) {
    enter(known)
    return checkEnrolment()
  }
  if (!mayHaveSession()) return leave()
  try {
    enter(await client.userId())
    checkEnrolmentWhenLost()
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error
    if (error.status === 401) return leave()
    session.value = { state: 'unreachable' }
    setTimeout(() => void startSession(), retryMs)
  }
}

/** Enters with the session that the client has, unless a second factor must be set up first. */
export async function continueSession(returnTo?: string) {
  const userId = await client.userId()
  setPerson(userId)
  try {
    await client.request('GET /auth/me')
    enter(userId, returnTo)
  } catch (error) {
    if (!(error instanceof RequestFailed && error.code === 'mfa_enrolment_required')) throw error
    session.value = { state: 'enrolling' }
    if (returnTo !== undefined) navigate(returnTo, { replace: true })
  }
}

/**
 * Asks whether a second factor must be set up, once the first connection has failed. It was not asked before the person
 * entered, because that would be one more request before the first message.
 */
function checkEnrolmentWhenLost() {
  const { value } = session
  if (value.state !== 'signed-in') return
  const { connection } = value.workspace
  const stop = effect(() => {
    if (connection.value === 'connecting') return
    if (connection.value === 'lost') void checkEnrolment()
    stop()
  })
}

/** A second factor may have become required since the last visit. Without an answer the page shows what it has. */
async function checkEnrolment() {
  try {
    await client.request('GET /auth/me')
  } catch (error) {
    enrolIfRequired(error)
  }
}

/** The server answers nothing else before a second factor is set up. */
function enrolIfRequired(error: unknown) {
  if (!(error instanceof RequestFailed)) throw error
  const { value } = session
  if (error.code !== 'mfa_enrolment_required' || value.state !== 'signed-in') return
  value.workspace.end()
  session.value = { state: 'enrolling' }
}

/** A sign-in has succeeded. `returnTo` is where the person wanted to go. */
export function enter(userId: string, returnTo?: string) {
  setPerson(userId)
  const workspace = createWorkspace(client, userId, { onRefused: enrolIfRequired, onSignedOut: leave })
  session.value = { state: 'signed-in', workspace }
  if (returnTo !== undefined) navigate(returnTo, { replace: true })
}

/** The browser's session is theirs from now on. What is copied of somebody else goes, what that person has typed stays. */
function setPerson(userId: string) {
  const known = localStorage.getItem(personKey)
  if (known !== null && known !== userId) wipeCopies(known)
  myId = userId
  localStorage.setItem(personKey, userId)
}

function wipeCopies(userId: string) {
  const store = storeOf(userId)
  store
    .wipe('copies')
    .catch(reportError)
    .finally(() => store.close())
}

/** By now it may be the entry of somebody else, who has signed in in another tab. */
function removePerson() {
  if (localStorage.getItem(personKey) === myId) localStorage.removeItem(personKey)
}

/**
 * Signs out. What this browser has of the person is gone at once, also without a network. The server is told as soon as it can be
 * reached, and nobody signs in here before that.
 */
export async function signOut() {
  const { value } = session
  const workspace = value.state === 'signed-in' ? value.workspace : undefined
  const userId = myId
  // Deletions that can still be undone are carried out first, if that is quick: the network may be gone without a sign.
  if (workspace?.connection.value === 'live') {
    await Promise.race([workspace.deletions.flush(), new Promise((resolve) => setTimeout(resolve, flushMs))])
    // The session has ended meanwhile, and the next one may have begun.
    if (myId !== userId) return
  }
  forgetDrafts()
  forgetEmoji()
  forgetUnreadMarks()
  removePerson()
  // After these were removed, because there may be no room for it in a full storage.
  notePendingSignOut(userId ?? '')
  workspace?.forget().catch(reportError)
  leave()
  navigate('/', { replace: true })
}

/** The session has ended, here or elsewhere. */
function leave() {
  removePerson()
  const left = myId
  myId = undefined
  const { value } = session
  if (value.state === 'signed-in') value.workspace.end()
  // Their workspace ended before the session did, and has kept everything.
  if (value.state === 'enrolling' && left !== undefined) wipeCopies(left)
  session.value = { state: 'signed-out' }
  endPendingSignOut()
}

function endPendingSignOut() {
  if (session.value.state === 'signed-out' && hasPendingSignOut()) void endSession()
}
// Another tab has told this one of a sign-out.
// `localStorage` may reach this tab later than the message from the other tab.
addEventListener('storage', endPendingSignOut)

// Somebody else has signed in in another tab, so the session of this one cannot go on.
addEventListener('storage', ({ key, newValue }) => {
  if (key !== personKey || newValue === null || myId === undefined || newValue === myId) return
  const left = myId
  leave()
  // What this tab was just writing when the other one removed it.
  wipeCopies(left)
})
