import { RequestFailed, requestForPlace } from '@parley/client'
import type { ChannelPreferences } from '@parley/contract'
import { effect, signal } from '@preact/signals'
import { withLock } from '../ui/locks.ts'
import { showProblem, textOf } from '../ui/problems.ts'
import type { Workspace } from './workspace.ts'

type Change = Partial<ChannelPreferences>

/** The pause before the next try after a failure. */
const retryMs = 5_000
let retryTimer: ReturnType<typeof setTimeout> | undefined

/** One request at a time, so that the server stores the last change last. */
let sending: Promise<unknown> = Promise.resolve()

/** Shows a change at once, and sends it. Without a connection it is sent later, also after a reload. */
export function setPreferences(workspace: Workspace, id: string, change: Change): void {
  workspace.unsavedPreferences.set(id, { ...workspace.unsavedPreferences.all().get(id), ...change })
  send(workspace)
}

/** Sends what waits whenever the server can be reached again. Returns a function that ends it. */
export const sendPreferences = (workspace: Workspace): (() => void) =>
  effect(() => {
    if (workspace.connection.value === 'live') send(workspace)
  })

/** One tab at a time, because all tabs send the same changes. */
function send(workspace: Workspace) {
  clearTimeout(retryTimer)
  const work = sending.then(() => withLock(`parley.preferences ${workspace.myId}`, () => sendAll(workspace)))
  sending = Promise.allSettled([work])
}

async function sendAll(workspace: Workspace) {
  for (const id of workspace.unsavedPreferences.all().keys()) {
    if (workspace.ended.aborted || workspace.connection.value !== 'live') return
    const change = workspace.unsavedPreferences.all().get(id)
    if (change && !(await isAnswered(workspace, id, change))) {
      retryTimer = setTimeout(send, retryMs, workspace)
      return
    }
  }
}

/**
 * Sends a change. It stays in `unsavedPreferences` until its event has come, or the server has refused it. Then the error is shown, and the
 * change is taken back. Returns false when the server has not decided on it.
 */
async function isAnswered(workspace: Workspace, id: string, change: Change): Promise<boolean> {
  const { client, ended, unsavedPreferences } = workspace
  const events = listenTo(workspace, id)
  try {
    const input = { body: change, signal: ended, repeats: 0 }
    const saved = await requestForPlace(client, 'PUT /channels/:channelId/preferences', id, input)
    // In the middle of an upgrade an older server ignores what it does not know. It is sent again until a newer one has stored it.
    if (Object.keys(change).some((field) => !(field in saved))) return false
    await events.until(saved)
  } catch (error) {
    if (ended.aborted) return false
    if (!(error instanceof RequestFailed)) throw error
    // After the end of the session the change waits for the next sign-in of the person.
    if (!error.isRefusal || error.status === 401) return false
    showProblem(textOf(error))
  } finally {
    events.end()
  }
  // The person may have made another change meanwhile.
  const now = unsavedPreferences.all().get(id)
  if (now && isSame(now, change)) unsavedPreferences.set(id, undefined)
  return true
}

/** Listens to the events of a channel or conversation, because an event may come before the response to its request. */
function listenTo({ connection, ended, detailsOnServer, listen }: Workspace, id: string) {
  const heard = signal<readonly ChannelPreferences[]>([])
  const { value: before } = connection
  const end = listen(({ type, payload }) => {
    if (type === 'UPDATE_CHANNEL_PREFERENCES' && payload.channelId === id) heard.value = [...heard.value, payload]
  })
  return {
    end,
    /** Resolves when the event has come, or is not needed, or when the stream was lost or opened again, because then it may not come. */
    async until(saved: ChannelPreferences) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const stop = effect(() => {
        const isKnown = isSame(detailsOnServer(id) ?? saved, saved)
        if (isKnown || heard.value.some((event) => isSame(event, saved)) || connection.value !== before) resolve()
      })
      ended.addEventListener('abort', () => resolve(), { once: true })
      await promise
      stop()
    },
  }
}

const fields = ['isMuted', 'isFavourite', 'notifiesOfAll'] as const
const isSame = (one: Change, next: Change) => fields.every((field) => one[field] === next[field])
