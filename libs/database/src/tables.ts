import type { Insertable, Selectable } from 'kysely'
import type { AppResponses, Apps, Commands } from './tables/apps.ts'
import type {
  ChannelMembers,
  ChannelPreferences,
  Channels,
  IdempotencyKeys,
  LinkPreviews,
  Mentions,
  Messages,
  MessageUploads,
  Reactions,
  ReadFolds,
  ReadStates,
  SavedMessages,
  ThreadFollows,
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
import type {
  Consumers,
  DeliveryLease,
  EventPositions,
  Jobs,
  MissedMessagesProgress,
  Outbox,
  OutboxRing,
  PresenceNodes,
  Presences,
  RelayLease,
  SubscriptionDeliveries,
  Subscriptions,
} from './tables/events.ts'
import type {
  Attempts,
  AuditLog,
  Avatars,
  ChannelGroups,
  GroupMembers,
  Groups,
  Identities,
  MfaAttempts,
  NotificationSettings,
  OauthStates,
  OneTimeLinks,
  Passkeys,
  ProviderSessions,
  RecoveryCodes,
  ScimClients,
  ServerSettings,
  Sessions,
  TotpSecrets,
  UsedTokens,
  Users,
  WebauthnChallenges,
} from './tables/people.ts'

export type * from './tables/apps.ts'
export type * from './tables/channels.ts'
export type * from './tables/copies.ts'
export type * from './tables/events.ts'
export type * from './tables/people.ts'

/** Every table, by its name in Kysely. The columns are in `tables/`, by area. */
export interface Tables {
  users: Users
  avatars: Avatars
  notificationSettings: NotificationSettings
  scimClients: ScimClients
  groups: Groups
  groupMembers: GroupMembers
  channelGroups: ChannelGroups
  sessions: Sessions
  identities: Identities
  providerSessions: ProviderSessions
  usedTokens: UsedTokens
  channels: Channels
  channelMembers: ChannelMembers
  messages: Messages
  uploads: Uploads
  messageUploads: MessageUploads
  linkPreviews: LinkPreviews
  webhooks: Webhooks
  threads: Threads
  threadFollows: ThreadFollows
  mentions: Mentions
  savedMessages: SavedMessages
  readStates: ReadStates
  readFolds: ReadFolds
  channelPreferences: ChannelPreferences
  presence: Presences
  presenceNodes: PresenceNodes
  reactions: Reactions
  idempotencyKeys: IdempotencyKeys
  outbox: Outbox
  outboxRing: OutboxRing
  eventPositions: EventPositions
  relayLease: RelayLease
  consumers: Consumers
  subscriptions: Subscriptions
  subscriptionDeliveries: SubscriptionDeliveries
  deliveryLease: DeliveryLease
  apps: Apps
  commands: Commands
  appResponses: AppResponses
  jobs: Jobs
  missedMessagesProgress: MissedMessagesProgress
  serverSettings: ServerSettings
  auditLog: AuditLog
  oauthStates: OauthStates
  oneTimeLinks: OneTimeLinks
  attempts: Attempts
  totpSecrets: TotpSecrets
  recoveryCodes: RecoveryCodes
  passkeys: Passkeys
  mfaAttempts: MfaAttempts
  webauthnChallenges: WebauthnChallenges
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
export type GroupRow = Selectable<Groups>
export type PasskeyRow = Selectable<Passkeys>
export type ChannelRow = Omit<Selectable<Channels>, 'lastTs'>
export type MessageRow = Omit<Selectable<Messages>, 'ts'>
export type SubscriptionRow = Selectable<Subscriptions>
export type SubscriptionDeliveryRow = Selectable<SubscriptionDeliveries>
export type CommandRow = Selectable<Commands>
export type AppResponseRow = Selectable<AppResponses>
export type UploadRow = Selectable<Uploads>
