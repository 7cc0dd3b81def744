import type { WireEvent } from '@parley/contract'
import type { Client } from '../client/client.ts'
import type { Store } from '../store/store.ts'
import type { EventStream, StreamHandlers, StreamOptions } from '../stream/event-stream.ts'
import type { Tabs } from '../stream/tabs.ts'

export interface SyncEngineOptions {
  client: Client
  /** Stores the data between two starts. By default the data are only in memory. */
  store?: Store
  /** The tabs that share one stream and one store: the result of `joinTabs`. */
  tabs?: Tabs
  /**
   * `all`, the default: all channels and people, for bots and small servers. `joined`: only the channels that the person has joined, and
   * the people that are asked for, for servers of any size.
   */
  scope?: 'all' | 'joined'
  /** The id of the signed-in person, if it is known before the first response. Stored data of another person are not shown. */
  userId?: string
  /** Opens the event stream, instead of `Client.openSharedStream`. */
  openStream?: (handlers: StreamHandlers, options: StreamOptions) => EventStream
  /** The number of messages or replies of one request. */
  pageSize?: number
  /** Called once per turn of the event loop in which some data have changed. */
  onChange?: () => void
  /** Called with every event after it was applied, for events whose content is not stored, such as TYPING. */
  onEvent?: (event: WireEvent) => void
  /**
   * Called when the stream opens or is lost. `openedAt` is the server's time when the stream opened. Ephemeral events from before that
   * time were missed.
   */
  onConnection?: (isOpen: boolean, openedAt?: number) => void
  onSignedOut?: () => void
  /** Called when the store cannot be read or written, for example because it is full. The engine continues without it. */
  onStoreFailed?: (error: unknown) => void
}
