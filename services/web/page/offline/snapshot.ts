import { effect } from '@preact/signals'
import type { Part } from '../app/part.ts'
import { currentWorkspace } from '../app/session.ts'
import type { takeSnapshot } from './take-snapshot.ts'
import { postToWorker } from './worker.ts'

/**
 * Sends a snapshot of the page to the service worker whenever the page is hidden or closed, so that the next start shows it immediately.
 * The snapshot of another person is removed. As long as `part` is not loaded, the previous snapshot of the person stays.
 */
export function keepSnapshots(part: () => Part<{ takeSnapshot: typeof takeSnapshot }>) {
  effect(() => {
    const workspace = currentWorkspace()
    if (workspace) void postToWorker({ kind: 'signed in', userId: workspace.myId })
  })
  const keep = () => {
    const workspace = currentWorkspace()
    if (!workspace) return void postToWorker({ kind: 'snapshot', snapshot: null })
    const loaded = part()
    if (typeof loaded === 'string') return
    void postToWorker({ kind: 'snapshot', snapshot: loaded.takeSnapshot(workspace.myId) })
  }
  addEventListener('pagehide', keep)
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) keep()
  })
}

const shown = () => document.getElementById('snapshot')

/** Whether the service worker has put a snapshot into this page. */
export const hasSnapshot = () => shown() !== null

/** Removes the snapshot, because the page itself is rendered now. */
export const removeSnapshot = () => shown()?.remove()
