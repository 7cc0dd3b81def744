import { randomId } from '../requests/random-id.ts'
import type { SharedStore, SharedStoreParts, Tab } from '../store/shared-store.ts'
import {
  type EventStream,
  openEventStream,
  type StreamContext,
  type StreamHandlers,
  type StreamOptions,
} from './event-stream.ts'

/** The tabs of a browser that show the same server to the same person. One of them is the leader. */
export interface Tabs extends Tab {
  /** Whether there may be other tabs. Without Web Locks each tab is alone, and is its own leader. */
  readonly isShared: boolean
  /** Opens an event stream for this tab. All tabs share one connection. */
  openStream(context: StreamContext, handlers: StreamHandlers, options?: StreamOptions): EventStream
  /** Shares a store with the other tabs. Only the leader fetches and writes. */
  shareStore(parts: SharedStoreParts): SharedStore
  close(): void
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
  shareStore: () => ({ readFromLeader: () => undefined, keep() {}, onSettled() {}, notifyEnd() {} }),
  close() {},
})
