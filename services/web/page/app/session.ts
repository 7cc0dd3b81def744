import { type Client, createClient, RequestFailed } from '@parley/client'
import { effect, signal } from '@preact/signals'
import { readEmojiChoice } from '../emoji/emoji-choice.ts'
import { pause } from '../ui/pause.ts'
import { problems } from '../ui/problems.ts'
import { address, navigate } from './address.ts'
import { forgetStored } from './forget-stored.ts'
import { shownPerson } from './shown-person.ts'
import {
  endSession,
  fetchWhenEnded,
  finishRemovals,
  hasPendingSignOut,
  notePendingSignOut,
  pendingKey,
  tokens,
} from './sign-out.ts'
import { createChosenFiles } from './uploads.ts'
import { createWorkspace, storeOf, type Workspace } from './workspace.ts'

type SessionState =
  | { state: 'starting' | 'unreachable' }
  /**
   * `ended`: the session has ended by itself, or on another device. `sentence` says that the account is deactivated, if the server has told
   * this tab so.
   */
  | { state: 'signed-out'; ended?: { userId: string; sentence: string | undefined } | undefined }
  /** The server requires a second factor, and the person has none. They must set one up first. */
  | { state: 'enrolling' }
  | { state: 'signed-in'; workspace: Workspace }

export const session = signal<SessionState>({ state: 'starting' })

/** The id of the person who is signed in in this browser. With it, stored data is shown before the first response. It grants no access. */
const personKey = 'parley.person'
/** Undefined when nobody is known, or when the stored value is no id: the page would end the session of the cookie for it. */
function knownPerson(): string | undefined {
  const stored = localStorage.getItem(personKey)
  return stored !== null && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(stored) ? stored : undefined
}
/** The id of the person who is signed in on this page. */
let myId: string | undefined
/** The id of the person who was signed in on this page before. */
let leftId: string | undefined
/** The id of the person who has signed out last, here or in another tab. */
let signedOutId: string | undefined

const firstStream = Promise.withResolvers<void>()
/** Resolves when this tab sends its request for the event stream. It does not resolve in a tab that shares the stream of another one. */
export const streamRequested = firstStream.promise
const fetchAndNote: typeof fetch = (...input) => {
  const response = fetchWhenEnded(...input)
  if (String(input[0]).startsWith('/events')) firstStream.resolve()
  return response
}

/**
 * The only client of this page. When the cookie belongs to somebody else by now, the session ends, so that nothing is shown or sent in
 * their name.
 */
export const client: Client = createClient({
  baseUrl: '',
  userId: knownPerson(),
  tokens,
  fetch: fetchAndNote,
  onSignedOut: leave,
})

/** The files that the person has chosen. When the session ends by itself, they stay in memory, until somebody else signs in. */
const files = createChosenFiles(client)

const retryMs = 2_000
/** The longest time that a sign-out waits for deletions. */
const flushMs = 1_000

/** Whether the browser may have a session cookie. The server sets a second, readable cookie, so that a first visit needs no request. */
const mayHaveSession = () => /(?:^|; )(?:__Secure-)?parley_signed_in=/.test(document.cookie)

/**
 * Continues the session of the cookie, if there is one. When the person is known, the page shows the stored data immediately. A link from
 * a mail begins another session.
 */
export async function startSession(): Promise<void> {
  finishRemovals()
  if (hasPendingSignOut() || address.value.view === 'link') return leave()
  const known = knownPerson()
  if (known !== undefined) {
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

/** Enters with the current session of the client, unless the person must set up a second factor first. */
export async function continueSession(returnTo?: string) {
  const userId = await client.userId()
  setPerson(userId)
  // Somebody else does not get what the previous person had opened.
  if (leftId !== undefined && leftId !== userId) returnTo = '/'
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
 * Checks whether the person must set up a second factor, but only when the first connection fails. A check before that would be an
 * additional request before the first message.
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

/** Checks whether a second factor has become required since the last visit. Without a response the page shows the stored data. */
async function checkEnrolment() {
  const { value: checked } = session
  try {
    await client.request('GET /auth/me')
  } catch (error) {
    enrolIfRequired(error, checked)
  }
}

/**
 * Leads to the set-up of a second factor if the server requires it. Until then the server refuses all other requests. `refused` is
 * the session of the refused request. Somebody else may have signed in meanwhile.
 */
function enrolIfRequired(error: unknown, refused: SessionState) {
  if (!(error instanceof RequestFailed)) throw error
  if (error.code !== 'mfa_enrolment_required' || refused.state !== 'signed-in' || refused !== session.value) return
  refused.workspace.end()
  session.value = { state: 'enrolling' }
}

/** Shows the page of a signed-in person. `returnTo` is the address that the person wanted to open. */
function enter(userId: string, returnTo?: string) {
  setPerson(userId)
  // The card may have been open when the session before this one ended.
  shownPerson.value = null
  const onRefused = (error: unknown) => enrolIfRequired(error, entered)
  const workspace = createWorkspace(client, userId, { files, onRefused, onSignedOut: leave })
  files.resume()
  const entered: SessionState = { state: 'signed-in', workspace }
  session.value = entered
  if (returnTo !== undefined) navigate(returnTo, { replace: true })
}

/** Makes this person the signed-in one of the browser. Copies of another person's data are removed, but their outbox stays. */
function setPerson(userId: string) {
  const known = knownPerson()
  if (known !== undefined && known !== userId) wipeCopies(known)
  if ((myId ?? leftId) !== userId) files.forget()
  myId = userId
  signedOutId = undefined
  localStorage.setItem(personKey, userId)
  readEmojiChoice(userId)
}

function wipeCopies(userId: string) {
  const store = storeOf(userId)
  store
    .wipe('copies')
    .catch(reportError)
    .finally(() => store.close())
}

/** Removes the entry of this person, but not that of somebody who has signed in in another tab meanwhile. */
function removePerson() {
  if (localStorage.getItem(personKey) === myId) localStorage.removeItem(personKey)
}

/**
 * Signs out. All data of the person in this browser is removed immediately, even without a network. The session on the server ends as
 * soon as the server can be reached. Until then, this browser allows no new sign-in.
 */
export async function signOut() {
  const { value } = session
  const workspace = value.state === 'signed-in' ? value.workspace : undefined
  const leavingId = myId
  // Waiting deletions are sent first, but only for a short time, because the network may be lost.
  if (workspace?.connection.value === 'live') {
    await Promise.race([workspace.deletions.flush(), pause(flushMs)])
    // The session has ended meanwhile, and another one may have begun.
    if (myId !== leavingId) return
  }
  const userId = leavingId ?? ''
  forgetStored(userId)
  removePerson()
  // Written after the removals above, because the storage may have been full.
  notePendingSignOut(userId)
  signedOutId = userId
  workspace?.forget().catch(reportError)
  leave()
  navigate('/', { replace: true })
}

/** Shows the sign-in, because the session has ended in this tab or elsewhere. */
function leave(refusal?: RequestFailed) {
  removePerson()
  const previousId = myId
  leftId = myId ?? leftId
  myId = undefined
  const { value } = session
  if (value.state === 'signed-in') value.workspace.end()
  // The workspace ended before the session did, so its copies are still stored.
  if (value.state === 'enrolling' && previousId !== undefined) wipeCopies(previousId)
  // What the person was told does not concern the next one.
  problems.value = []
  // Other refusals name the reason in technical terms, or say only "Please sign in".
  const sentence = refusal?.code === 'session_of_deactivated' ? refusal.message : undefined
  const ended = previousId === undefined ? undefined : { userId: previousId, sentence }
  if (value.state !== 'signed-out') session.value = { state: 'signed-out', ended }
  finishSignOut()
}

/**
 * After a sign-out, here or in another tab: the page does not say that the session has ended, the chosen files are forgotten, and the session
 * ends on the server.
 */
function finishSignOut() {
  const { value } = session
  if (value.state !== 'signed-out') return
  if (value.ended && value.ended.userId === signedOutId) {
    session.value = { state: 'signed-out' }
    files.forget()
  }
  if (hasPendingSignOut()) void endSession()
}
// After a sign-out in another tab, the change of `localStorage` may come later than that tab's message. A tab in the background may get both
// when the server has responded already.
addEventListener('storage', ({ key, newValue }) => {
  if (key === pendingKey && newValue !== null) signedOutId = newValue
  finishSignOut()
})

// When the person of this tab signs in again in another tab, this tab continues. When somebody else does, the session of this tab ends.
addEventListener('storage', ({ key, newValue }) => {
  if (key !== personKey || newValue === null || newValue === myId) return
  if (myId === undefined) return newValue === leftId ? location.reload() : undefined
  const previousId = myId
  leave()
  // This tab may have written copies while the other tab removed them.
  wipeCopies(previousId)
})
