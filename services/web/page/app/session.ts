import { type Client, createClient, RequestFailed } from '@parley/client'
import { effect, type ReadonlySignal, signal } from '@preact/signals'
import { readEmojiChoice } from '../emoji/emoji-choice.ts'
import { pause } from '../ui/pause.ts'
import { problems } from '../ui/problems.ts'
import { address, navigate } from './address.ts'
import { forgetStored } from './forget-stored.ts'
import { createPersonOfPage } from './person-of-page.ts'
import { shownPerson } from './shown-person.ts'
import {
  endSession,
  fetchAfterSignOut,
  finishRemovals,
  hasPendingSignOut,
  notePendingSignOut,
  onSignOutElsewhere,
  tokens,
} from './sign-out.ts'
import { storeOf } from './stores.ts'
import { createChosenFiles } from './uploads.ts'
import { createWorkspace, type Workspace } from './workspace.ts'

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

/** Only `enter`, `enrol`, `leave` and `finishSignOut` change it, and `startSession` when the server cannot be reached. */
const current = signal<SessionState>({ state: 'starting' })
export const session: ReadonlySignal<SessionState> = current
/** The workspace of the signed-in person, if somebody is signed in. It reads the signal, so effects follow it. */
export const currentWorkspace = () => (session.value.state === 'signed-in' ? session.value.workspace : undefined)
const person = createPersonOfPage()

const firstStream = Promise.withResolvers<void>()
/** Resolves when this tab sends its request for the event stream. It does not resolve in a tab that shares the stream of another one. */
export const streamRequested = firstStream.promise
const fetchAndNoteStream: typeof fetch = (...input) => {
  const response = fetchAfterSignOut(...input)
  if (String(input[0]).startsWith('/events')) firstStream.resolve()
  return response
}

/**
 * The only client of this page. When the cookie belongs to somebody else by now, the session ends, so that nothing is shown or sent in
 * their name.
 */
export const client: Client = createClient({
  baseUrl: '',
  userId: person.notedId(),
  tokens,
  fetch: fetchAndNoteStream,
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
  const notedId = person.notedId()
  if (notedId !== undefined) {
    enter(notedId)
    return checkEnrolment()
  }
  if (!mayHaveSession()) return leave()
  try {
    enter(await client.userId())
    checkEnrolmentWhenLost()
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error
    if (error.status === 401) return leave()
    current.value = { state: 'unreachable' }
    setTimeout(() => void startSession(), retryMs)
  }
}

/** Enters with the session that a sign-in has given to the client, unless the person must set up a second factor first. */
export async function continueSession(returnTo?: string) {
  const userId = await client.userId()
  arrive(userId)
  const leftId = person.leftId()
  // Somebody else does not get what the previous person had opened.
  if (leftId !== undefined && leftId !== userId) returnTo = '/'
  try {
    await client.request('GET /auth/me')
    enter(userId)
  } catch (error) {
    if (!requiresEnrolment(error)) throw error
    enrol()
  }
  if (returnTo !== undefined) navigate(returnTo, { replace: true })
}

/**
 * Signs out. All data of the person in this browser is removed immediately, even without a network. The session on the server ends as
 * soon as the server can be reached. Until then, this browser allows no new sign-in.
 */
export async function signOut() {
  const workspace = currentWorkspace()
  const leavingId = person.id()
  // Waiting deletions are sent first, but only for a short time, because the network may be lost.
  if (workspace?.connection.value === 'live') {
    await Promise.race([workspace.deletions.flush(), pause(flushMs)])
    // The session has ended meanwhile, and another one may have begun.
    if (person.id() !== leavingId) return
  }
  const userId = leavingId ?? ''
  forgetStored(userId)
  person.removeNote()
  // Written after the removals above, because the storage may have been full.
  notePendingSignOut(userId)
  person.noteSignOut(userId)
  workspace?.forget().catch(reportError)
  leave()
  navigate('/', { replace: true })
}

/** Shows the page of a person who is signed in, or who was at the last visit. */
function enter(userId: string) {
  arrive(userId)
  // The card may have been open when the session before this one ended.
  shownPerson.value = null
  const onRefused = (error: unknown) => enrolIfRequired(error, entered)
  const workspace = createWorkspace(client, userId, { files, onRefused, onSignedOut: leave })
  files.resume()
  const entered: SessionState = { state: 'signed-in', workspace }
  current.value = entered
}

/** Makes this person the one of this page and of the browser. Copies of another person's data are removed, but their outbox stays. */
function arrive(userId: string) {
  const notedId = person.notedId()
  if (notedId !== undefined && notedId !== userId) wipeCopies(notedId)
  if ((person.id() ?? person.leftId()) !== userId) files.forget()
  person.arrive(userId)
  readEmojiChoice(userId)
}

/** Shows the set-up of a second factor. Until it is done, the server refuses all other requests. */
function enrol() {
  currentWorkspace()?.end()
  current.value = { state: 'enrolling' }
}

const requiresEnrolment = (error: unknown) => error instanceof RequestFailed && error.code === 'mfa_enrolment_required'

/** `refused` is the session of the refused request. Somebody else may have signed in meanwhile. */
function enrolIfRequired(error: unknown, refused: SessionState) {
  if (!(error instanceof RequestFailed)) throw error
  if (requiresEnrolment(error) && refused.state === 'signed-in' && refused === session.value) enrol()
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
 * Checks whether the person must set up a second factor, but only when the first connection fails. A check before that would be an
 * additional request before the first message.
 */
function checkEnrolmentWhenLost() {
  const connection = currentWorkspace()?.connection
  if (!connection) return
  const stop = effect(() => {
    if (connection.value === 'connecting') return
    if (connection.value === 'lost') void checkEnrolment()
    stop()
  })
}

/** Shows the sign-in, because there is no session, or because it has ended in this tab or elsewhere. */
function leave(refusal?: RequestFailed) {
  const userId = person.leave()
  const { value } = session
  currentWorkspace()?.end()
  // The workspace ended before the session did, so its copies are still stored.
  if (value.state === 'enrolling' && userId !== undefined) wipeCopies(userId)
  // What the person was told does not concern the next one.
  problems.value = []
  // Other refusals name the reason in technical terms, or say only "Please sign in".
  const sentence = refusal?.code === 'session_of_deactivated' ? refusal.message : undefined
  const ended = userId === undefined ? undefined : { userId, sentence }
  if (value.state !== 'signed-out') current.value = { state: 'signed-out', ended }
  finishSignOut()
}

/**
 * After a sign-out, here or in another tab: the page does not say that the session has ended, the chosen files are forgotten, and the session
 * ends on the server.
 */
function finishSignOut() {
  const { value } = session
  if (value.state !== 'signed-out') return
  if (value.ended && person.hasSignedOut(value.ended.userId)) {
    current.value = { state: 'signed-out' }
    files.forget()
  }
  if (hasPendingSignOut()) void endSession()
}

function wipeCopies(userId: string) {
  const store = storeOf(userId)
  store
    .wipe('copies')
    .catch(reportError)
    .finally(() => store.close())
}

// After a sign-out in another tab, this event may come later than that tab's message. A tab in the background may get both when the server
// has responded already.
onSignOutElsewhere((userId) => {
  person.noteSignOut(userId)
  finishSignOut()
})

// When the person of this tab signs in again in another tab, this tab continues. When somebody else does, the session of this tab ends.
person.onOtherArrival((userId) => {
  const leavingId = person.id()
  if (leavingId === undefined) return userId === person.leftId() ? location.reload() : undefined
  leave()
  // This tab may have written copies while the other tab removed them.
  wipeCopies(leavingId)
})
