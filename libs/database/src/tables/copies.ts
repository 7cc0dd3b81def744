/** Bytes of uploads, exports, and the copy of messages that search reads. */
import type { Generated } from 'kysely'
import type { Moment } from './columns.ts'

export interface Blobs {
  id: string
  key: string
  /** Bytes. */
  size: number
  contentType: string
  createdAt: Moment
  /** Null while the blob is being written. Readers do not see it then. */
  writtenAt: Moment | null
}

/** All chunks of a blob have the same size, except the last one. */
export interface BlobChunks {
  blobId: string
  n: number
  bytes: Buffer
}

export type ExportState = 'waiting' | 'running' | 'ready' | 'failed'

export interface Exports {
  id: string
  requestedBy: string
  state: ExportState
  /** The number of the newest attempt. A worker with an older attempt changes nothing. */
  attempt: Generated<number>
  recordsDone: Generated<number>
  /** An estimate until the export is ready. */
  recordsTotal: number | null
  /** Bytes, compressed. */
  size: number | null
  createdAt: Moment
  finishedAt: Moment | null
  /** It is deleted after this moment. */
  expiresAt: Moment
}

/** The compressed document of an export is split into blobs. Each has a row here before its bytes are stored. */
export interface ExportParts {
  exportId: string
  attempt: number
  n: number
  /** Bytes. */
  size: number
}

/** The copy of a message that search reads. Deleted messages have no copy. */
export interface MessageSearch {
  messageId: string
  channelId: string
  /** A person or a webhook. */
  authorId: string | null
  createdAt: Moment
  segment: number
  /** `foldParts` of the content, the names of attachments, and the names of the webhook. */
  folded: string
}

/** The search index is divided into segments of time. */
export interface SearchSegments {
  segment: number
  /** Its messages were written from this moment on, until `fromAt` of the next segment. */
  fromAt: Moment
  firstAt: Moment | null
  lastAt: Moment | null
  size: Generated<number>
}

/** How far `messageSearch` is up to date. */
export interface SearchProgress {
  id: Generated<number>
  /** The changes of events up to this position are in `messageSearch`. */
  pos: Generated<number>
  /** The changes of outbox rows up to this id are in `messageSearch`. Those of later rows may be. */
  seenId: Generated<number>
  /** Becomes `seenId` when `pos` reaches `nextPos`. */
  nextSeenId: Generated<number>
  nextPos: Generated<number>
  /** Messages with a smaller id are not in `messageSearch` yet. Null when all are. */
  unreadBelow: string | null
}
