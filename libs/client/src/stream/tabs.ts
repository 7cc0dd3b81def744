import {
  type EventStream,
  openEventStream,
  type StreamContext,
  type StreamHandlers,
  type StreamOptions,
} from './event-stream.ts'
import type { Leadership, LeadershipParts, Tab } from './leadership.ts'

/** The tabs of a browser that show the same server to the same person. One of them is the leader. */
export interface Tabs extends Tab {
  /** Whether there may be others. Without Web Locks a tab is alone and its own leader. */
  readonly isShared: boolean
  /** A stream of events for this tab: with others one connection for all. */
  openStream(context: StreamContext, handlers: StreamHandlers, options?: StreamOptions): EventStream
  /** What this tab shares with the others beside the stream: with a store of all, its leader fetches and writes for them. */
  shareStore(parts: LeadershipParts): Leadership
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
  shareStore: () => ({ take: () => undefined, keep() {}, settle() {}, tellEnded() {} }),
  close() {},
})

/** A text that nobody else has. `crypto.randomUUID` is missing on pages that do not come by https. */
export const randomId = (): string =>
  crypto.randomUUID?.() ??
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
