import type { PresenceStatus } from '@parley/contract'
import type { ColumnType, Generated, Insertable, Selectable } from 'kysely'

/** Moments are epoch milliseconds; bigint columns are read as numbers (all of ours stay below 2^53). */
type Moment = number

export interface Users {
  id: string
  userName: string
  /** NFKC and lower-case: what makes a name unique. */
  userNameKey: string
  /** What the name looks like, see `nameSkeleton`; null when the version before wrote the name. */
  userNameSkeleton: ColumnType<string | null, string | null | undefined, string | null>
  /** Lower-case. */
  email: string
  isAdmin: Generated<boolean>
  passwordHash: string | null
  /** They registered by themselves, and nothing has shown yet that the address is theirs. */
  emailUnproven: Generated<boolean>
  createdAt: Moment
  removedAt: Moment | null
}

export interface Sessions {
  id: string
  userId: string
  createdAt: Moment
  lastUsedAt: Moment
  expiresAt: Moment
  endedAt: Moment | null
  /** The generation of the refresh token that is current; earlier ones were rotated away. */
  refreshGeneration: Generated<number>
  rotatedAt: Moment | null
  ip: string | null
  userAgent: string | null
}

export type ChannelKind = 'public' | 'private' | 'direct'

export interface Channels {
  id: string
  kind: ChannelKind
  name: string
  nameKey: string
  topic: string | null
  createdBy: string | null
  createdAt: Moment
  updatedAt: Moment | null
  deletedAt: Moment | null
  /** Raised with every change of who may read the channel. */
  membersVersion: Generated<number>
  lastSeq: Generated<number>
  /** The two participants of a conversation, in order: makes it unique. */
  directKey: string | null
}

export interface ChannelMembers {
  channelId: string
  userId: string
  joinedAt: Moment
}

export interface StoredAttachment {
  filename: string
  originalName: string
  contentType: string
  size: number
}

export interface Messages {
  id: string
  channelId: string
  threadId: string | null
  seq: number
  rev: Generated<number>
  /** Null for what a webhook posted. */
  authorId: string | null
  webhookId: string | null
  content: string
  attachments: ColumnType<StoredAttachment[] | null, string | null, string | null>
  images: string[] | null
  quotedMessageId: string | null
  mentions: string[] | null
  pinnedAt: Moment | null
  createdAt: Moment
  updatedAt: Moment | null
  deletedAt: Moment | null
}

/** A file or image; its bytes are in the blob store under `filename`. */
export interface Uploads {
  /** Made by us: an id and the extension. */
  filename: string
  kind: 'file' | 'image'
  /** Where an image belongs; null for files, which go wherever their uploader may write. */
  channelId: string | null
  /** As the uploader calls it, made safe. */
  originalName: string
  /** Recognised, not declared. */
  contentType: string
  /** Bytes. */
  size: number
  /** SHA-256 of the bytes. */
  digest: Buffer
  /** Content type of the thumbnail, which is in the blob store under `thumbnailKey(filename)`; null while there is none. */
  thumbnailType: string | null
  /** Bytes of the thumbnail; 0 while there is none. */
  thumbnailSize: Generated<number>
  uploadedBy: string
  createdAt: Moment
  /** Null until all bytes are in the blob store. */
  storedAt: Moment | null
  /** Since when no message has it, `createdAt` if none ever had; null while one has. */
  idleSince: Moment | null
}

/** Which messages have which uploads; those of deleted messages are released. */
export interface MessageUploads {
  messageId: string
  filename: string
}

export interface Webhooks {
  id: string
  name: string
  /** The only channel it posts to. */
  channelId: string
  /** SHA-256 of its token. */
  tokenHash: Buffer
  createdBy: string
  createdAt: Moment
  lastPostedAt: Moment | null
  /** The row stays as the author of its messages. */
  deletedAt: Moment | null
}

/** The replies of a message, summed up. */
export interface Threads {
  /** The parent. */
  messageId: string
  /** Of all replies, deleted ones too; the other columns tell of those that are left. */
  lastSeq: number
  replyCount: number
  lastReplyAt: Moment | null
  lastReplyBy: string | null
  /** In the order of their first replies. */
  participants: string[]
}

export interface ReadStates {
  userId: string
  /** A channel or conversation. */
  channelId: string
  /** Marked as read up to here; one's own messages beyond it are read as well. */
  readSeq: number
}

/** Up to where a channel's authors were entered in `read_states`, as those who have read their own messages. */
export interface ReadFolds {
  channelId: string
  foldedSeq: number
}

/** Who is there; see migration 0011. */
export interface Presences {
  userId: string
  /** Open event streams by realtime node. */
  streams: ColumnType<Record<string, number>, string | undefined, string>
  /** Holds until the last stream closes. */
  setByHand: PresenceStatus | null
  shown: PresenceStatus
  lastSeen: Moment
  /** When they are shown as offline unless they come back. */
  offlineAt: Moment | null
  /** Number of the transaction that changed `shown`. */
  changedBy: string
}

export interface PresenceNodes {
  id: string
  seenAt: Moment
}

export interface Reactions {
  messageId: string
  reaction: string
  userId: string
  position: ColumnType<number, never, never>
}

export interface IdempotencyKeys {
  userId: string
  key: string
  requestHash: Buffer
  /** The JSON of the message as it was first answered. */
  answer: string
  createdAt: Moment
}

export interface Outbox {
  id: number
  slot: number
  /** JSON of a `Routing`. */
  routing: string
  /** JSON of a `WireEvent`, null when the row only carries control for the nodes. */
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
  /** Every outbox id up to this one has a position, or will never exist. */
  lowId: number
  /** Ids above `lowId` can only have positions above this one. */
  lowPos: number
  /** Which cluster and timeline the positions were given out in, as `database_history()` says; null until it is known. */
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

export interface ServerSettings {
  id: Generated<number>
  name: string
}

export interface AuditLog {
  id: string
  action: string
  actorId: string
  targetType: string
  targetId: string
  metadata: ColumnType<unknown, string | null, never>
  ip: string | null
  createdAt: Moment
}

export interface OauthStates {
  /** SHA-256 of the state that travels through the provider. */
  stateHash: Buffer
  /** SHA-256 of the cookie of the browser that started. */
  browserHash: Buffer
  providerId: string
  ip: string
  /** PKCE. */
  codeVerifier: string
  expiresAt: Moment
}

export type LinkPurpose = 'login' | 'invite' | 'reset'

export interface OneTimeLinks {
  /** As it is stored of people: lower-case. */
  email: string
  purpose: LinkPurpose
  /** SHA-256 of the token in the link. */
  tokenHash: Buffer
  /** Whose link it is; null for somebody who is not here yet. */
  userId: string | null
  expiresAt: Moment
}

export interface Attempts {
  /** What is counted: wrong passwords of an account, of an address of the network; mails. */
  kind: string
  subject: string
  /** The attempts that still count, oldest first; as many as the limit at most. */
  attemptedAt: Moment[]
  lastAttemptAt: Moment
  /** The address of the account it is about; null where it is about none. */
  account: string | null
}

export type ExportState = 'waiting' | 'running' | 'ready' | 'failed'

export interface Exports {
  id: string
  requestedBy: string
  state: ExportState
  /** Which try it is; a worker whose try is not the newest any more changes nothing. */
  attempt: Generated<number>
  recordsDone: Generated<number>
  /** An estimate until it is ready. */
  recordsTotal: number | null
  /** Bytes, compressed. */
  size: number | null
  createdAt: Moment
  finishedAt: Moment | null
  /** It is deleted from then on. */
  expiresAt: Moment
}

/** The compressed document of an export, cut in pieces: each is a blob, entered here before it is stored. */
export interface ExportParts {
  exportId: string
  attempt: number
  n: number
  /** Bytes. */
  size: number
}

export interface Blobs {
  id: string
  key: string
  /** Bytes. */
  size: number
  contentType: string
  createdAt: Moment
  /** Null while it is being written: nobody sees it then. */
  writtenAt: Moment | null
}

/** All chunks of a blob have the same size, but for the last. */
export interface BlobChunks {
  blobId: string
  n: number
  bytes: Buffer
}

/** A copy of a message for search, of live ones only. */
export interface MessageSearch {
  messageId: string
  channelId: string
  /** A person or a webhook. */
  authorId: string | null
  createdAt: Moment
  segment: number
  /** `foldParts` of the content, the names of attachments and the name of the webhook. */
  folded: string
}

/** A stretch of time; the index of grams is divided by them. */
export interface SearchSegments {
  segment: number
  /** Its messages were written at this moment or later, and before the next segment's. */
  fromAt: Moment
  firstAt: Moment | null
  lastAt: Moment | null
  size: Generated<number>
}

/** How far `messageSearch` goes. */
export interface SearchProgress {
  id: Generated<number>
  /** What events up to this position tell of is in it. */
  pos: Generated<number>
  /** What outbox rows up to this id tell of is in it; what later ones do may be or not. */
  seenId: Generated<number>
  /** `seenId` as soon as `pos` has reached `nextPos`. */
  nextSeenId: Generated<number>
  nextPos: Generated<number>
  /** Messages with a smaller id are yet to be read from `messages`; null when none are. */
  unreadBelow: string | null
}

export interface Tables {
  users: Users
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
