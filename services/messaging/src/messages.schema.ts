import { Id, limits, Message, PageLimit } from '@parley/contract'
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
