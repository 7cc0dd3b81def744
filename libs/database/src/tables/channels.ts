/** Channels and conversations, their messages, reactions, files and read states. */
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
  /** Grows with every change of who may read the channel. */
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
  /** False for somebody who is a member only through groups of the channel. */
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
  /** Shown instead of the content, which has the same words. */
  blocks: ColumnType<MessageBlock[] | null, string | null | undefined, string | null>
  /** Name and icon that the webhook chose for this message. */
  shownAs: ColumnType<{ userName?: string; icon?: string } | null, string | null | undefined, string | null>
  attachments: ColumnType<StoredAttachment[] | null, string | null, string | null>
  images: string[] | null
  /** Width and height of each image whose size is known. */
  imageSizes: ColumnType<Record<string, [number, number]> | null, string | null, string | null>
  /**
   * Previews of the links in the content. Empty: the author has removed them, and none are added any more. Null: there
   * are none.
   */
  previews: ColumnType<Preview[] | null, string | null | undefined, string | null>
  quotedMessageId: string | null
  mentions: string[] | null
  /** The people whom earlier texts of the message mentioned. */
  mentionedBefore: Generated<string[] | null>
  pinnedAt: Moment | null
  createdAt: Moment
  updatedAt: Moment | null
  deletedAt: Moment | null
  /** Microseconds, for programs written for Slack. Null: stored by an older version, which had no such column. */
  ts: Generated<number | null>
}

/** A summary of the replies to a message. */
export interface Threads {
  /** The parent. */
  messageId: string
  /** seq of the newest reply, also when it is deleted. The other columns count only replies that are not deleted. */
  lastSeq: number
  replyCount: number
  lastReplyAt: Moment | null
  /** Null when a webhook wrote it. */
  lastReplyBy: string | null
  lastReplyWebhook: string | null
  /** Authors, in the order of their first replies. */
  participants: string[]
}

/** Who follows which thread, and how far they have read it. */
export interface ThreadFollows {
  /** The parent. The row is deleted with the row of `threads`. */
  messageId: string
  userId: string
  channelId: string
  /** False for somebody who has stopped to follow by hand. */
  isFollowing: boolean
  /** The seq up to which they have read the replies. */
  readSeq: number
  /** Replies after `readSeq` that are not deleted. 0 for somebody who does not follow. */
  unreadCount: Generated<number>
  /** When the newest reply was written that is not deleted. Null: there is none. */
  lastReplyAt: Moment | null
}

/**
 * Which messages mention a person, a group, or everybody in a channel. Written by a trigger of `messages`. A row stays when an edit removes
 * the mention, or when the message is deleted.
 */
export interface Mentions {
  /** A person, a group, or the channel of a message with `@channel` or `@here`. */
  targetId: string
  messageId: string
}

/** A row stays when the message is deleted. */
export interface SavedMessages {
  userId: string
  messageId: string
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
  /** The seq up to which the user marked it as read. Their own later messages count as read too. */
  readSeq: number
}

/** What a person has set for a channel or conversation. There is no row while all are false. */
export interface ChannelPreferences {
  userId: string
  channelId: string
  isMuted: boolean
  isFavourite: boolean
  notifiesOfAll: Generated<boolean>
}

/** The seq up to which the authors of a channel's messages are entered in `read_states` (see `foldReads`). */
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
  /** An id that the server generates, and the extension. */
  filename: string
  kind: 'file' | 'image'
  /**
   * The channel of an image. Null while an image that was uploaded through Slack's API is not on a message yet, and for
   * files, which the uploader may post in any channel.
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
  /** Whether the worker has failed to read the size. */
  sizeUnreadable: Generated<boolean>
  /** Null without a thumbnail. The thumbnail is in the blob store under `thumbnailKey(filename)`. */
  thumbnailType: string | null
  /** Bytes of the thumbnail; 0 without one. */
  thumbnailSize: Generated<number>
  /** Null for an image that the server stored for a preview. */
  uploadedBy: string | null
  createdAt: Moment
  /** Null until all bytes are in the blob store. */
  storedAt: Moment | null
  /** Since when no message has the upload (`createdAt` when none ever had it). Null while a message has it. */
  idleSince: Moment | null
}

/** The uploads of messages. When a message is deleted, its rows here are deleted too. */
export interface MessageUploads {
  messageId: string
  filename: string
}

export interface IdempotencyKeys {
  userId: string
  key: string
  requestHash: Buffer
  /** The response to the first request, as its `ResponseForm` wrote it: JSON, or sealed when it has a secret. */
  answer: string
  createdAt: Moment
}

/** The preview of a link, as it was last fetched. */
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
  /** The link is fetched again after this moment. */
  expiresAt: Moment
}
