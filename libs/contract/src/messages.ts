import { type Static, Type } from 'typebox'
import type { MessageBlock } from './blocks.ts'
import { Id, Nullable, Timestamp } from './fields.ts'

export const Attachment = Type.Object({
  filename: Type.String({ description: 'Stored name' }),
  originalName: Type.String(),
  contentType: Type.String(),
  size: Type.Integer({ description: 'Bytes' }),
})
export type Attachment = Static<typeof Attachment>

export const Author = Type.Object({
  id: Type.String({ description: 'User id, or webhook:<webhook id>' }),
  userName: Type.String(),
  isBot: Type.Optional(Type.Boolean()),
  webhookName: Type.Optional(
    Type.String({ description: 'The name of the webhook, when it chose another `userName` for this message' }),
  ),
  icon: Type.Optional(
    Type.String({
      description: 'The picture that a webhook chose for this message: `:name:` of an emoji, or an address',
    }),
  ),
})
export type Author = Static<typeof Author>

export const ThreadMeta = Type.Object({
  replyCount: Type.Integer(),
  lastReplyAt: Timestamp,
  lastReplyBy: Author,
  participants: Type.Array(Id),
})
export type ThreadMeta = Static<typeof ThreadMeta>

/** Stands beside the `threadMeta` of a parent message and says which rev of the parent it belongs to. */
export const ParentRev = Type.Integer({ description: 'rev of the parent that has this threadMeta' })

/** The ids of the people who hold a reaction, by the text of the reaction. Keys are free text, so the object has no prototype. */
export const Reactions = Type.Unsafe<Record<string, string[]>>({
  type: 'object',
  additionalProperties: { type: 'array', items: { type: 'string' } },
  description:
    'The ids of the people who hold a reaction, by the text of the reaction, in the order in which they reacted',
})
export type Reactions = Static<typeof Reactions>

/** Keys are free text, so the object has no prototype. */
export const ImageSizes = Type.Unsafe<Record<string, [width: number, height: number]>>({
  type: 'object',
  additionalProperties: { type: 'array', items: { type: 'integer' } },
  description:
    'Width and height in pixels of each image, by its name in `images`; an image of unknown size is left out',
})
export type ImageSizes = Static<typeof ImageSizes>

export const Preview = Type.Object({
  url: Type.String({ description: 'The address as it is written in the content' }),
  title: Type.String(),
  description: Nullable(Type.String()),
  image: Nullable(
    Type.Object(
      { name: Type.String(), width: Type.Integer(), height: Type.Integer() },
      { description: 'An image of the channel or conversation, by its name' },
    ),
  ),
  siteName: Nullable(Type.String()),
})
export type Preview = Static<typeof Preview>

export const Message = Type.Object({
  id: Id,
  channelId: Type.String({ description: 'Channel id, or conversation id (dm:…) of a direct message' }),
  threadId: Nullable(Type.String({ description: 'Parent message id of a reply' })),
  seq: Type.Integer({ description: 'Gapless position within its channel, conversation or thread' }),
  rev: Type.Integer({
    description: 'Grows with every change of the message: of two versions, the one with the higher rev is newer',
  }),
  author: Author,
  content: Type.String(),
  blocks: Type.Array(Type.Unsafe<MessageBlock>({ type: 'object', additionalProperties: true }), {
    description:
      'Clients show the blocks instead of `content`, which has the same words. They follow Slack’s Block Kit, with texts of type ' +
      '`mrkdwn` in Parley’s markup (docs/integrations.md)',
  }),
  attachments: Type.Array(Attachment),
  images: Type.Array(Type.String()),
  imageSizes: ImageSizes,
  previews: Type.Array(Preview, {
    description: 'Previews of the first links of the content. They are added some seconds after the message',
  }),
  quotedMessageId: Nullable(Type.String()),
  mentions: Type.Array(Type.String(), { description: 'User ids, group:<id>, @channel, @here' }),
  pinnedAt: Nullable(Timestamp),
  createdAt: Timestamp,
  updatedAt: Nullable(Timestamp),
  reactions: Reactions,
  threadMeta: Nullable(ThreadMeta),
  nonce: Type.Optional(
    Type.String({
      description: 'The nonce that the sender gave. It is only in the response to the send and in its NEW_… event',
    }),
  ),
})
export type Message = Static<typeof Message>

/** Whether a person has saved a message for later. */
export const SavedState = Type.Object({ messageId: Id, isSaved: Type.Boolean() })
export type SavedState = Static<typeof SavedState>

export const EphemeralMessage = Type.Object({
  id: Id,
  channelId: Message.properties.channelId,
  author: { ...Author, description: 'A bot, or this server itself, whose id is `server`' },
  content: Type.String(),
  blocks: Message.properties.blocks,
  createdAt: Timestamp,
  updatedAt: Nullable({
    ...Timestamp,
    description:
      'When the app replaced the message. Clients replace the message that has the same `id`, and remove it when `content` is empty and ' +
      'there are no `blocks`',
  }),
  clickToken: Nullable(
    Type.String({
      description: 'For `POST /messages/:messageId/actions`, when the message has buttons. Opaque, valid for a day',
    }),
  ),
})
export type EphemeralMessage = Static<typeof EphemeralMessage>
