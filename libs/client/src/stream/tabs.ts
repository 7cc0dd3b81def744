import {
  type EventStream,
  openEventStream,
  type StreamContext,
  type StreamHandlers,
  type StreamOptions,
} from './event-stream.ts'
import { openSharedStream } from './shared-stream.ts'

/** The tabs of a browser that show the same server to the same person. One of them is the leader. */
export interface Tabs {
  readonly id: string
  /** Whether there may be others. Without Web Locks a tab is alone and its own leader. */
  readonly isShared: boolean
  readonly isLeader: boolean
  /** Sends a note to all other tabs. */
  post(topic: string, note: unknown): void
  listen(topic: string, onNote: (note: unknown) => void): void
  /** Calls back once, when this tab is the leader. */
  whenLeader(lead: () => void): void
  /** A stream of events for this tab: with others one connection for all. */
  openStream(context: StreamContext, handlers: StreamHandlers, options?: StreamOptions): EventStream
  close(): void
}

/**
 * Joins the tabs that use this name, which should name the server and the person. The tab that holds a Web Lock is the leader;
 * when it is closed or crashes, the browser gives the lock to the next one.
 *
 * Web Locks rather than a SharedWorker: every browser has them, on phones too, the browser itself notices the death of a tab, and
 * it does not freeze a tab in the background that holds one.
 */
export function joinTabs(name: string): Tabs {
  const { locks } = (globalThis.navigator ?? {}) as { locks?: LocksOfBrowser }
  if (!locks || typeof BroadcastChannel === 'undefined') return soleTab()

  const channel = new BroadcastChannel(`parley.tabs:${name}`)
  const leaving = new AbortController()
  const listeners = new Map<string, (note: unknown) => void>()
  const waiting: (() => void)[] = []
  let isLeader = false

  channel.onmessage = ({ data }: { data: unknown }) => {
    const { topic, note } = data as { topic: string; note: unknown }
    if (!leaving.signal.aborted) listeners.get(topic)?.(note)
  }
  const lead = () =>
    new Promise<void>((resolve) => {
      if (leaving.signal.aborted) return resolve()
      leaving.signal.addEventListener('abort', () => resolve())
      isLeader = true
      for (const each of waiting.splice(0)) each()
    })
  locks.request(`parley.tabs:${name}`, { signal: leaving.signal }, lead).catch((error: Error) => {
    if (!leaving.signal.aborted) throw error
  })

  const tabs: Tabs = {
    id: randomId(),
    isShared: true,
    get isLeader() {
      return isLeader
    },
    post(topic, note) {
      if (!leaving.signal.aborted) channel.postMessage({ topic, note })
    },
    listen: (topic, onNote) => void listeners.set(topic, onNote),
    whenLeader(lead) {
      if (isLeader) lead()
      else waiting.push(lead)
    },
    openStream: (context, handlers, options) => openSharedStream(tabs, context, handlers, options),
    close() {
      isLeader = false
      leaving.abort()
      channel.close()
    },
  }
  return tabs
}

/** A tab, or a program, that shares nothing. */
export const soleTab = (): Tabs => ({
  id: randomId(),
  isShared: false,
  isLeader: true,
  post() {},
  listen() {},
  whenLeader: (lead) => lead(),
  openStream: openEventStream,
  close() {},
})

/** A text that nobody else has. `crypto.randomUUID` is missing on pages that do not come by https. */
export const randomId = (): string =>
  crypto.randomUUID?.() ??
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

interface LocksOfBrowser {
  request(name: string, options: { signal: AbortSignal }, work: () => Promise<void>): Promise<void>
}
