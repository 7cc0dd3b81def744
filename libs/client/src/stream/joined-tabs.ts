import { randomId } from '../requests/random-id.ts'
import { createSharedStore } from '../store/shared-store.ts'
import { openSharedStream } from './shared-stream.ts'
import { soleTab, type Tabs } from './tabs.ts'

/**
 * Joins the tabs with this name. The name should contain the server and the person. The tab that holds a Web Lock is the leader. When
 * that tab is closed or crashes, the browser gives the lock to another tab.
 *
 * Web Locks have three advantages over a SharedWorker: all browsers support them, on phones too; the browser releases the lock of a
 * crashed tab; and it does not freeze a background tab that holds a lock.
 */
export function joinTabs(name: string): Tabs {
  const { locks } = (globalThis.navigator ?? {}) as { locks?: LocksOfBrowser }
  if (!locks || typeof BroadcastChannel === 'undefined') return soleTab()

  const channel = new BroadcastChannel(`parley.tabs:${name}`)
  const closing = new AbortController()
  const listeners = new Map<string, (note: unknown) => void>()
  const waiting: (() => void)[] = []
  let isLeader = false

  channel.onmessage = ({ data }: { data: unknown }) => {
    const { topic, note } = data as { topic: string; note: unknown }
    if (!closing.signal.aborted) listeners.get(topic)?.(note)
  }
  /** Holds the lock, and with it the lead, until this tab is closed. */
  const holdLock = () =>
    new Promise<void>((resolve) => {
      if (closing.signal.aborted) return resolve()
      closing.signal.addEventListener('abort', () => resolve())
      isLeader = true
      for (const lead of waiting.splice(0)) lead()
    })
  locks.request(`parley.tabs:${name}`, { signal: closing.signal }, holdLock).catch((error: Error) => {
    if (!closing.signal.aborted) throw error
  })

  const tabs: Tabs = {
    id: randomId(),
    isShared: true,
    get isLeader() {
      return isLeader
    },
    post(topic, note) {
      if (!closing.signal.aborted) channel.postMessage({ topic, note })
    },
    listen: (topic, onNote) => void listeners.set(topic, onNote),
    whenLeader(lead) {
      if (isLeader) lead()
      else waiting.push(lead)
    },
    openStream: (context, handlers, options) => openSharedStream(tabs, context, handlers, options),
    shareStore: (parts) => createSharedStore(tabs, parts),
    close() {
      isLeader = false
      closing.abort()
      channel.close()
    },
  }
  return tabs
}

interface LocksOfBrowser {
  request(name: string, options: { signal: AbortSignal }, work: () => Promise<void>): Promise<void>
}
