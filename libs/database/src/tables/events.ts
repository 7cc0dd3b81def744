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
  /** The position up to which the bot has processed the events. */
  pos: number
  createdAt: Moment
  updatedAt: Moment
  /** The consumer's newest stream. Older streams end. */
  streamId: string | null
}

/** A bot's request that events be sent to a receiver. */
export interface Subscriptions {
  id: string
  /** The receiver gets the events that this bot may read. */
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
  /** Why the server paused it. Null when a person paused it. */
  pauseReason: string | null
  epoch: string
  /** The position up to which the receiver has all events for which the subscription asks. */
  pos: number
  /** Grows when somebody sets another position. */
  generation: Generated<number>
  /** Failed attempts since the last success. */
  attempts: Generated<number>
  failingSince: Moment | null
  retryAt: Moment | null
  createdAt: Moment
  /** Grows with every change except that of the position. The delivering process then reads the row again. */
  updatedAt: Moment
  deletedAt: Moment | null
}

/** One attempt to send an event to a receiver. */
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

/** The lease of the process that delivers to subscriptions. */
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
  /** Rows with ids above `lowId` have positions above this one. */
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

/** The one row of the mails about missed messages. */
export interface MissedMessagesProgress {
  /** The mails about messages that were created before are recorded. */
  doneUntil: Moment
  /** The end of the period whose mails are being recorded; null between two periods. */
  runningUntil: Moment | null
  /** The mails of this period are recorded for people up to this id. */
  lastUserId: string | null
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
  /** When the person is shown as offline, unless they open a stream before. */
  offlineAt: Moment | null
  /** Number of the transaction that changed `shown`. */
  changedBy: string
}

export interface PresenceNodes {
  id: string
  seenAt: Moment
}
