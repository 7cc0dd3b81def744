import {
  type ApiError,
  firstCharacters,
  Id,
  invalid,
  limits,
  Message,
  type MessageBlock,
  PageLimit,
} from '@parley/contract'
import { type ChannelRow, claimOf, type RequestKey } from '@parley/database'
import { InvalidBlocks, readBlocks, textOfBlocks } from '@parley/slack'
import { type Static, Type } from 'typebox'

/**
 * A reference to an uploaded file. The other fields of the attachment are copied from the upload, and those from the
 * client are ignored.
 */
const AttachmentRef = Type.Object({
  filename: Type.String({
    maxLength: limits.storedName,
    description: 'The stored name, from the response to the upload',
  }),
})

/** `readBlocks` decides which parts of the blocks are stored. */
export const BlocksBody = Type.Array(Type.Unsafe<object>({ type: 'object', additionalProperties: true }), {
  description:
    'Clients show these blocks of Slack’s Block Kit instead of the content. Their texts are in Parley’s markup, and their words are ' +
    'added to `content`. An edit without blocks removes the blocks.',
})

/** The fields of a message that its author sends, for a new message and for an edit. */
export const MessageBody = Type.Object({
  content: Type.String({
    maxLength: limits.content,
    description:
      'May be empty only when attachments or images are present. In an edit, those that the message keeps count too.',
  }),
  blocks: Type.Optional(BlocksBody),
  attachments: Type.Optional(Type.Array(AttachmentRef, { maxItems: limits.attachments })),
  images: Type.Optional(
    Type.Array(Type.String({ maxLength: limits.storedName }), {
      maxItems: limits.attachments,
      description: 'Names from the image upload',
    }),
  ),
  quotedMessageId: Type.Optional(
    Type.String({ description: 'Id of a message of the same channel; an empty text means no quote' }),
  ),
})
export type MessageBody = Static<typeof MessageBody>

/** The fields of a new message that its author sends. */
export const NewMessageBody = Type.Object({
  ...MessageBody.properties,
  nonce: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.nonce,
      description:
        'The response and the event contain it as `nonce`, so that a client recognises its own message. It is not stored.',
    }),
  ),
  withUnusedFiles: Type.Optional(
    Type.Boolean({
      description: 'If true, attachments and images that another message has are refused (400 `duplicate`)',
    }),
  ),
})
export type NewMessageBody = Static<typeof NewMessageBody>

/** The nonce as it is echoed: well-formed Unicode. */
export const nonceOf = ({ nonce }: NewMessageBody): string | undefined => nonce?.toWellFormed()

export const MessageParams = Type.Object({ messageId: Id })

/** The response to a pin or a reaction, which may be sent again. */
export const ChangedMessage = Type.Object({
  message: Message,
  isChanged: Type.Boolean({ description: 'False when it was so already, and the request changed nothing' }),
})
export type ChangedMessage = Static<typeof ChangedMessage>

/** A request has at most one of the four cursors. Without a cursor it gets the newest messages. */
export const PageQuery = Type.Object({
  limit: PageLimit(),
  before: Type.Optional(Type.String({ description: 'Message id: the messages directly before it' })),
  after: Type.Optional(Type.String({ description: 'Message id: the messages directly after it' })),
  around: Type.Optional(Type.String({ description: 'Message id: it and the messages on both sides of it' })),
  aroundSeq: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: '`seq`: like `around`' }),
  ),
})
export type PageQuery = Static<typeof PageQuery>

export const pageEnds = {
  hasOlder: Type.Boolean({ description: 'Whether there are older messages than these' }),
  hasNewer: Type.Boolean({ description: 'Whether there are newer messages than these' }),
}

/** What a message shows: its text, and the blocks that clients show instead of it. */
interface TextAndBlocks {
  content: string
  blocks: MessageBlock[]
}

/**
 * Content and blocks as they are stored: well-formed Unicode, because JSON needs it. The words of the blocks follow the
 * content, for search and for clients that show no blocks. @throws ApiError 400 when the blocks are not valid.
 */
export function readTextAndBlocks(body: MessageBody): TextAndBlocks {
  if (!body.blocks) return { content: body.content.toWellFormed(), blocks: [] }
  try {
    const blocks = readBlocks(body.blocks)
    const words = textOfBlocks(blocks)
    const content = withWords(body.content, words)
    return { content: firstCharacters(content.toWellFormed(), limits.content), blocks }
  } catch (error) {
    if (error instanceof InvalidBlocks) throw invalid(error.message)
    throw error
  }
}

function withWords(content: string, words: string): string {
  if (words === '') return content
  return content.trim() === '' || words.startsWith(content) ? words : `${content}\n${words}`
}

/** Like `readTextAndBlocks`, for a new message. @throws ApiError 400 also when the message is empty. */
export function readNewTextAndBlocks(body: MessageBody): TextAndBlocks {
  const read = readTextAndBlocks(body)
  requireNotEmpty(read.content, body)
  return read
}

interface MessageFiles {
  attachments?: readonly unknown[] | null
  images?: readonly unknown[] | null
}

/**
 * @throws ApiError 400 when the content is blank and there are neither attachments nor images. An empty list in a
 * request counts as such, for clients that post first and upload later.
 */
export function requireNotEmpty(content: string, { attachments, images }: MessageFiles): void {
  if (content.trim() === '' && !attachments && !images) {
    throw invalid('content must not be empty, unless attachments or images are given')
  }
}

/** The message that a new one quotes. */
export const quoteOf = ({ quotedMessageId }: MessageBody): string | null => quotedMessageId || null

export const unquotable = ({ kind }: Pick<ChannelRow, 'kind'>): ApiError =>
  invalid(`quotedMessageId must be the id of a message in this ${kind === 'direct' ? 'conversation' : 'channel'}`)

interface SentMessage {
  /** The person or webhook that sent it. */
  userId: string
  /** `Idempotency-Key` */
  key: string | undefined
  /** A name for the channel, the conversation or the thread. */
  where: string
  /** Further parameters of the request. */
  more?: unknown[]
}

/** The key of a request that sends a message; null without one. */
export function claimOfMessage(
  { userId, key, where, more = [] }: SentMessage,
  { content, blocks, attachments = [], images = [], quotedMessageId }: MessageBody,
): RequestKey | null {
  const filenames = attachments.map(({ filename }) => filename)
  const withBlocks = blocks ? [blocks] : []
  return claimOf(userId, key, where, content, filenames, images, quotedMessageId ?? null, ...withBlocks, ...more)
}
