import type { Insertable, Selectable } from 'kysely'
import type {
  ChannelMembers,
  Channels,
  IdempotencyKeys,
  Messages,
  MessageUploads,
  Reactions,
  ReadFolds,
  ReadStates,
  Threads,
  Uploads,
  Webhooks,
} from './tables/channels.ts'
import type {
  BlobChunks,
  Blobs,
  ExportParts,
  Exports,
  MessageSearch,
  SearchProgress,
  SearchSegments,
} from './tables/copies.ts'
import type { EventPositions, Jobs, Outbox, OutboxRing, PresenceNodes, Presences, RelayLease } from './tables/events.ts'
import type {
  Attempts,
  AuditLog,
  Avatars,
  OauthStates,
  OneTimeLinks,
  ServerSettings,
  Sessions,
  Users,
} from './tables/people.ts'

export type * from './tables/channels.ts'
export type * from './tables/copies.ts'
export type * from './tables/events.ts'
export type * from './tables/people.ts'

/** Every table, by its name in Kysely. The columns are in `tables/`, by area. */
export interface Tables {
  users: Users
  avatars: Avatars
  sessions: Sessions
  channels: Channels
  channelMembers: ChannelMembers
  messages: Messages
  uploads: Uploads
  messageUploads: MessageUploads
  webhooks: Webhooks
  threads: Threads
  readStates: ReadStates
  readFolds: ReadFolds
  presence: Presences
  presenceNodes: PresenceNodes
  reactions: Reactions
  idempotencyKeys: IdempotencyKeys
  outbox: Outbox
  outboxRing: OutboxRing
  eventPositions: EventPositions
  relayLease: RelayLease
  jobs: Jobs
  serverSettings: ServerSettings
  auditLog: AuditLog
  oauthStates: OauthStates
  oneTimeLinks: OneTimeLinks
  attempts: Attempts
  exports: Exports
  exportParts: ExportParts
  blobs: Blobs
  blobChunks: BlobChunks
  messageSearch: MessageSearch
  searchSegments: SearchSegments
  searchProgress: SearchProgress
}

export type UserRow = Selectable<Users>
export type SessionRow = Selectable<Sessions>
export type NewSession = Insertable<Sessions>
export type ChannelRow = Selectable<Channels>
export type MessageRow = Selectable<Messages>
export type UploadRow = Selectable<Uploads>
