/** Channels and conversations, with everything that is said and read in them. */
import type { MessageBlock, Preview } from '@parley/contract'
import type { ColumnType, Generated } from 'kysely'
import type { Moment } from './columns.ts'

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
  /** Raised when who may read the channel changes. */
  membersVersion: Generated<number>
  /** Kept by triggers of `channel_members`; 0 for conversations. */
  memberCount: ColumnType<number, never, never>
  lastSeq: Generated<number>
  /** `ts` of the newest message or reply, null before there is one. */
  lastTs: number | null
  /** The ids of a conversation's two participants, in order. It makes the conversation unique. */
  directKey: string | null
}

export interface ChannelMembers {
  channelId: string
  userId: string
  joinedAt: Moment
  /** False for somebody who is a member through groups of the channel alone. */
  byHand: Generated<boolean>
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
  /** Null when a webhook posted it. */
  authorId: string | null
  webhookId: string | null
  content: string
  /** What is shown instead of the content, whose words are the same. */
  blocks: ColumnType<MessageBlock[] | null, string | null | undefined, string | null>
  /** Name and icon that the webhook has chosen for this message. */
  shownAs: ColumnType<{ userName?: string; icon?: string } | null, string | null | undefined, string | null>
  attachments: ColumnType<StoredAttachment[] | null, string | null, string | null>
  images: string[] | null
  /** Width and height of each image whose size is known. */
  imageSizes: ColumnType<Record<string, [number, number]> | null, string | null, string | null>
  /** Of the links in the content. Empty: the author has taken them off, and there will be no more. Null: there are none. */
  previews: ColumnType<Preview[] | null, string | null | undefined, string | null>
  quotedMessageId: string | null
  mentions: string[] | null
  /** Whom earlier texts of the message mentioned. */
  mentionedBefore: Generated<string[] | null>
  pinnedAt: Moment | null
  createdAt: Moment
  updatedAt: Moment | null
  deletedAt: Moment | null
  /** Microseconds, for Slack's programs. Null: of a version that did not store it. */
  ts: Generated<number | null>
}

/** A summary of the replies to a message. */
export interface Threads {
  /** The parent. */
  messageId: string
  /** Of all replies, deleted ones too. The other columns count only replies that are not deleted. */
  lastSeq: number
  replyCount: number
  lastReplyAt: Moment | null
  /** Null when a webhook wrote it. */
  lastReplyBy: string | null
  lastReplyWebhook: string | null
  /** Authors, in the order of their first replies. */
  participants: string[]
}

export interface Reactions {
  messageId: string
  reaction: string
  userId: string
  position: ColumnType<number, never, never>
}

export interface ReadStates {
  userId: string
  /** A channel or conversation. */
  channelId: string
  /** Marked as read up to here. Their own later messages count as read too. */
  readSeq: number
}

/** Up to where the authors of a channel's messages are entered in `read_states` (see `foldReads`). */
export interface ReadFolds {
  channelId: string
  foldedSeq: number
}

export interface Webhooks {
  id: string
  name: string
  /** The only channel it posts to. */
  channelId: string
  /** SHA-256 of its token. */
  tokenHash: Buffer
  /** SHA-256 of the secret in its address; null until it has one. */
  secretHash: Buffer | null
  createdBy: string
  createdAt: Moment
  lastPostedAt: Moment | null
  /** The row stays, because it is the author of its messages. */
  deletedAt: Moment | null
}

/** A file or image. Its bytes are in the blob store under `filename`. */
export interface Uploads {
  /** An id that the server makes, and the extension. */
  filename: string
  kind: 'file' | 'image'
  /**
   * The channel of an image, null before an image that came through Slack's API is on a message. Null for files, which may go to any
   * channel that the uploader may write to.
   */
  channelId: string | null
  /** The uploader's name for it, sanitised. */
  originalName: string
  /** Recognised from the bytes, not declared by the uploader. */
  contentType: string
  /** Bytes. */
  size: number
  /** SHA-256 of the bytes. */
  digest: Buffer
  /** Of an image, in pixels; null when it is not known. */
  width: number | null
  height: number | null
  /** The worker has tried to read the size in vain. */
  sizeUnreadable: Generated<boolean>
  /** Null without a thumbnail. The thumbnail is in the blob store under `thumbnailKey(filename)`. */
  thumbnailType: string | null
  /** Bytes of the thumbnail; 0 without one. */
  thumbnailSize: Generated<number>
  /** Null: the server made it, for a preview. */
  uploadedBy: string | null
  createdAt: Moment
  /** Null until all bytes are in the blob store. */
  storedAt: Moment | null
  /** Since when no message has it (`createdAt` when none ever had); null while a message has it. */
  idleSince: Moment | null
}

/** The uploads of messages. Deleting a message releases its uploads. */
export interface MessageUploads {
  messageId: string
  filename: string
}

export interface IdempotencyKeys {
  userId: string
  key: string
  requestHash: Buffer
  /** The JSON of the message as it was first answered. */
  answer: string
  createdAt: Moment
}

/** What a link led to when it was last fetched. */
export interface LinkPreviews {
  /** SHA-256 of the address. */
  urlHash: Buffer
  /** Null: there is nothing to show. */
  title: string | null
  description: string | null
  siteName: string | null
  /** WebP. */
  image: Buffer | null
  imageWidth: number | null
  imageHeight: number | null
  /** It is fetched anew after this moment. */
  expiresAt: Moment
}
