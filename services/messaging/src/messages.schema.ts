import { hash } from 'node:crypto'
import {
  type ApiError,
  firstCharacters,
  Id,
  invalid,
  limits,
  type MessageBlock,
  notFound,
  PageLimit,
} from '@parley/contract'
import type { ChannelRow, MessageRow } from '@parley/database'
import { InvalidBlocks, readBlocks, textOfBlocks } from '@parley/slack'
import { type Static, Type } from 'typebox'

/** An attachment as its upload answered it; whatever else a client says of it is taken from the upload. */
const AttachmentRef = Type.Object({
  filename: Type.String({ maxLength: limits.storedName, description: 'Stored name, as the upload answered it' }),
})

/** What is stored of them is decided by `readBlocks`. */
export const BlocksBody = Type.Array(Type.Unsafe<object>({ type: 'object', additionalProperties: true }), {
  description:
    'What to show instead of the content: blocks of Slack’s Block Kit, with texts in Parley’s markup. Their words are added to `content`. An edit ' +
    'without blocks removes them.',
})

/** What the author of a message gives, when sending as well as when editing. */
export const MessageBody = Type.Object({
  content: Type.String({
    maxLength: limits.content,
    description: 'May be empty only when attachments or images are present',
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
    Type.String({ description: 'A message of the same channel; an empty text stands for no quote' }),
  ),
})
export type MessageBody = Static<typeof MessageBody>

/** What the author of a new message gives. */
export const NewMessageBody = Type.Object({
  ...MessageBody.properties,
  nonce: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.nonce,
      description:
        'Comes back as `nonce` in the reply and the event, so that a client finds its own message. Not stored.',
    }),
  ),
})
export type NewMessageBody = Static<typeof NewMessageBody>

/** The nonce as it is echoed: well-formed Unicode. */
export const nonceOf = ({ nonce }: NewMessageBody): string | undefined => nonce?.toWellFormed()

export const MessageParams = Type.Object({ messageId: Id })

/** At most one of the four cursors. Without one, the newest messages. */
export const PageQuery = Type.Object({
  limit: PageLimit(),
  before: Type.Optional(Type.String({ description: 'Message id: the messages just before it' })),
  after: Type.Optional(Type.String({ description: 'Message id: the messages just after it' })),
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

/**
 * The content as it is stored: well-formed Unicode, like every JSON text of it.
 * @throws ApiError 400 when it is blank although neither attachments nor images were given; an empty list counts as
 * given, for clients that post first and upload then.
 */
export function readContent({ content, attachments, images }: MessageBody): string {
  if (content.trim() === '' && !attachments && !images) {
    throw invalid('content must not be empty, unless attachments or images are given')
  }
  return content.toWellFormed()
}

/**
 * Content and blocks as they are stored. The words of the blocks follow the content, for search and for clients that show no blocks.
 * @throws ApiError 400 when there is nothing to show, or the blocks cannot be read.
 */
export function readShown(body: MessageBody): { content: string; blocks: MessageBlock[] } {
  if (!body.blocks) return { content: readContent(body), blocks: [] }
  try {
    const blocks = readBlocks(body.blocks)
    const words = textOfBlocks(blocks)
    const content = body.content.trim() === '' || words.startsWith(body.content) ? words : `${body.content}\n${words}`
    return { content: firstCharacters(readContent({ ...body, content }), limits.content), blocks }
  } catch (error) {
    if (error instanceof InvalidBlocks) throw invalid(error.message)
    throw error
  }
}

/** The message that a new one quotes. */
export const quoteOf = ({ quotedMessageId }: MessageBody): string | null => quotedMessageId || null

export const unquotable = ({ kind }: Pick<ChannelRow, 'kind'>): ApiError =>
  invalid(`quotedMessageId must be the id of a message in this ${kind === 'direct' ? 'conversation' : 'channel'}`)

/** Two requests for the same message have the same hash. `where` says where it is posted. */
export function requestHash(
  where: string,
  { content, blocks, attachments = [], images = [], quotedMessageId }: MessageBody,
  more: unknown[] = [],
): string {
  const filenames = attachments.map(({ filename }) => filename)
  return hash(
    'sha256',
    JSON.stringify([where, content, filenames, images, quotedMessageId ?? null, ...(blocks ? [blocks] : []), ...more]),
  )
}

/** The conversation or thread that the path of a request names beside the message. */
export type MessageLocation = Partial<Pick<MessageRow, 'channelId' | 'threadId'>>

/** @throws ApiError 404 when the message is not there. */
export function requireLocation(message: MessageRow, { channelId, threadId }: MessageLocation): void {
  if (channelId !== undefined && channelId !== message.channelId) throw notFound('message')
  if (threadId !== undefined && threadId !== message.threadId) throw notFound('message')
}
