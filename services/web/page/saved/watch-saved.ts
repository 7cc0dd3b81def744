import { effect } from '@preact/signals'
import type { Workspace } from '../app/workspace.ts'
import { ignoreFailure } from '../ui/retries.ts'

/** After an outage all clients connect again. Their requests come within this time. */
const spreadMs = 10_000

/** Keeps up to date which messages are marked as saved. Returns a function that ends it. */
export function watchSaved(workspace: Workspace): () => void {
  const { client, toggles } = workspace
  let fetching = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let wasLive = false

  async function fetchSaved(signal: AbortSignal) {
    /** What was known before the request. What changes meanwhile is newer than the response. */
    const before = new Map(toggles.saved)
    // Only the newest ones are listed, so that a person with very many does not fetch them all at each start.
    const { messageIds, hasMore } = await client.request('GET /saved/ids', { signal })
    const listed = new Set(messageIds)
    for (const id of listed) if (toggles.saved.get(id) === before.get(id)) toggles.setSaved(id, true)
    if (hasMore) return
    // A message that is not listed may still be saved: the person may have lost its channel for some time.
    for (const [id, isSaved] of before) {
      if (isSaved && !listed.has(id) && toggles.saved.get(id)) toggles.setSaved(id, undefined)
    }
  }

  const ends = [
    workspace.listen(({ type, payload }) => {
      if (type === 'SAVED_UPDATE') toggles.setSaved(payload.messageId, payload.isSaved)
    }),
    effect(() => {
      if (workspace.connection.value !== 'live') return
      fetching.abort()
      fetching = new AbortController()
      const { signal } = fetching
      clearTimeout(timer)
      const fetchNow = () => fetchSaved(signal).catch((error) => signal.aborted || ignoreFailure(error))
      timer = setTimeout(() => void fetchNow(), wasLive ? Math.random() * spreadMs : 0)
      wasLive = true
    }),
  ]
  return () => {
    for (const end of ends) end()
    clearTimeout(timer)
    fetching.abort()
  }
}
