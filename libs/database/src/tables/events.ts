/** The outbox, the relay, jobs and presence: how changes reach streams and workers. */
import type { PresenceStatus } from '@parley/contract'
import type { ColumnType, Generated } from 'kysely'
import type { Moment } from './columns.ts'

export interface Outbox {
  id: number
  slot: number
  /** JSON of a `Routing`. */
  routing: string
  /** JSON of a `WireEvent`; null when the row is only for the realtime nodes. */
  event: string | null
  trace: string | null
  createdAt: Moment
}

export interface OutboxRing {
  id: Generated<number>
  slot: number
  rotatedAt: Moment
}

export interface EventPositions {
  lastPos: number
  outboxIds: number[]
  createdAt: Moment
}

/** A bot's named position in the order of events. */
export interface Consumers {
  userId: string
  name: string
  epoch: string
  /** The bot has dealt with the events up to here. */
  pos: number
  createdAt: Moment
  updatedAt: Moment
  /** Its newest stream; others end. */
  streamId: string | null
}

/** A receiver of events outside. */
export interface Subscriptions {
  id: string
  /** It receives what this bot may read. */
  botId: string
  createdBy: string
  url: string
  format: Generated<'parley' | 'slack'>
  /** By their names in this format. */
  events: string[]
  /** Null: every channel. */
  channelIds: string[] | null
  /** Encrypted by `Seals`. Empty in Slack's format, which the signing secret of the bot signs. */
  sealedSecret: string
  isPaused: Generated<boolean>
  /** Why the server paused it; null when somebody did. */
  pauseReason: string | null
  epoch: string
  /** The receiver has the events up to here, but for what it did not ask for. */
  pos: number
  /** Raised when it is put to another position. */
  generation: Generated<number>
  /** Failed ones since the last success. */
  attempts: Generated<number>
  failingSince: Moment | null
  retryAt: Moment | null
  createdAt: Moment
  /** Raised by every change but that of the position: whoever delivers reads it again. */
  updatedAt: Moment
  deletedAt: Moment | null
}

/** One attempt. */
export interface SubscriptionDeliveries {
  id: string
  subscriptionId: string
  eventId: string
  type: string
  attempt: number
  /** Null without a reply. */
  status: number | null
  durationMs: number
  error: string | null
  createdAt: Moment
}

/** Which process delivers to subscriptions. */
export interface DeliveryLease {
  id: Generated<number>
  holder: string | null
  expiresAt: Moment
}

export interface RelayLease {
  id: Generated<number>
  token: number
  holder: string | null
  expiresAt: Moment
  epoch: string
  pos: number
  /** Every outbox id up to this one has a position or will never be used. */
  lowId: number
  /** Ids above `lowId` have positions above this one. */
  lowPos: number
  /** The PostgreSQL cluster and timeline of the positions (`database_history()`); null until it is known. */
  history: string | null
}

export interface Jobs {
  id: string
  name: string
  data: ColumnType<unknown, string, string>
  trace: string | null
  createdAt: Moment
  enqueuedAt: Moment | null
  failedAt: Moment | null
  failure: string | null
}

/** See docs/decisions/0011-presence-lives-in-postgresql.md. */
export interface Presences {
  userId: string
  /** Open event streams by realtime node. */
  streams: ColumnType<Record<string, number>, string | undefined, string>
  /** The status that the person chose. It ends with their last stream. */
  setByHand: PresenceStatus | null
  shown: PresenceStatus
  lastSeen: Moment
  /** When they are shown as offline, unless they open a stream before. */
  offlineAt: Moment | null
  /** Number of the transaction that changed `shown`. */
  changedBy: string
}

export interface PresenceNodes {
  id: string
  seenAt: Moment
}
