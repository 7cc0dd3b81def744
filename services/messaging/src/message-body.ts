import { firstCharacters, invalid, isBlank, limits, type MessageBlock } from '@parley/contract'
import { claimOf, type RequestKey } from '@parley/database'
import { InvalidBlocks, readBlocks, textOfBlocks } from '@parley/slack'
import type { MessageBody, NewMessageBody } from './messages.schema.ts'

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
  return isBlank(content) || words.startsWith(content) ? words : `${content}\n${words}`
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
  if (isBlank(content) && !attachments && !images) {
    throw invalid('content must not be empty, unless attachments or images are given')
  }
}

/** The nonce as it is echoed: well-formed Unicode. */
export const nonceOf = ({ nonce }: NewMessageBody): string | undefined => nonce?.toWellFormed()

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
