import type { WireEvent } from '@parley/contract'
import type { Client } from '../client/client.ts'
import type { Store } from '../store/store.ts'
import type { EventStream, StreamHandlers, StreamOptions } from '../stream/event-stream.ts'
import type { Tabs } from '../stream/tabs.ts'

export interface SyncEngineOptions {
  client: Client
  /** Where everything is kept between two starts; by default only in memory. */
  store?: Store
  /** The tabs that share one stream and one store, as `joinTabs` gives them. */
  tabs?: Tabs
  /**
   * `all`, the default: every channel and person, for bots and small servers. `joined`: the channels that the person has joined,
   * and of people those who are asked for, for servers of any size.
   */
  scope?: 'all' | 'joined'
  /** The person who is signed in, when that is known before the server says so: what a store has of somebody else is not shown. */
  userId?: string
  /** How to follow events, unless by a stream of its own or the stream of the tabs. */
  openStream?: (handlers: StreamHandlers, options: StreamOptions) => EventStream
  /** Messages of a channel and replies of a thread fetched at once. */
  pageSize?: number
  /** Told, once per turn of the event loop, that something is different. */
  onChange?: () => void
  /** Every event after it was applied: for what is not kept, such as TYPING. */
  onEvent?: (event: WireEvent) => void
  /**
   * Told whether the stream is open, and the server's time when it was opened. Events from before that time were
   * missed.
   */
  onConnection?: (isOpen: boolean, openedAt?: number) => void
  onSignedOut?: () => void
  /** The store cannot be read or written, when it is full for example. Everything goes on without it. */
  onStoreFailed?: (error: unknown) => void
}
