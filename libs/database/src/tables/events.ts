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
