import { Id, invalid, limits, Nullable, notFound, PageLimit } from '@parley/contract'
import type { MessageRow } from '@parley/database'
import { type Static, Type } from 'typebox'

/** An attachment as its upload answered it; whatever else a client says of it is taken from the upload. */
const AttachmentRef = Type.Object({
  filename: Type.String({ maxLength: limits.storedName, description: 'Stored name, as the upload answered it' }),
})

/** What the author of a message gives, when sending as well as when editing. */
export const MessageBody = Type.Object({
  content: Type.String({
    maxLength: limits.content,
    description: 'May be empty only when attachments or images are present',
  }),
  attachments: Type.Optional(Type.Array(AttachmentRef, { maxItems: limits.attachments })),
  images: Type.Optional(
    Type.Array(Type.String({ maxLength: limits.storedName }), {
      maxItems: limits.attachments,
      description: 'Names from the image upload',
    }),
  ),
  quotedMessageId: Type.Optional(Nullable(Type.String({ description: 'A message of the same channel' }))),
})
export type MessageBody = Static<typeof MessageBody>

export const MessageParams = Type.Object({ messageId: Id })

export const PageQuery = Type.Object({
  limit: PageLimit(),
  before: Type.Optional(Type.String({ description: 'Message id: only what is older' })),
})

/**
 * The content as it is stored: well-formed Unicode, as every JSON text of it will be.
 * @throws ApiError 400 when it is blank although neither attachments nor images were given; an empty list counts as
 * given, for clients that post first and upload then.
 */
export function readContent({ content, attachments, images }: MessageBody): string {
  if (content.trim() === '' && !attachments && !images) throw invalid('content is empty')
  return content.toWellFormed()
}

/** Where the path of a request says that its message is. */
export type Place = Partial<Pick<MessageRow, 'channelId' | 'threadId'>>

/** @throws ApiError 404 when the message is elsewhere: there it is unknown. */
export function requirePlace(message: MessageRow, { channelId, threadId }: Place): void {
  if (channelId !== undefined && channelId !== message.channelId) throw notFound('message')
  if (threadId !== undefined && threadId !== message.threadId) throw notFound('message')
}
