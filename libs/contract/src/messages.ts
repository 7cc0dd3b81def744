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
    Type.String({ description: 'The name of the webhook, when it has chosen another `userName` for this message' }),
  ),
  icon: Type.Optional(
    Type.String({ description: 'What a webhook has chosen as its picture: `:name:` of an emoji, or an address' }),
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

/** Beside the `threadMeta` of a parent message: which state of the parent has it. */
export const ParentRev = Type.Integer({ description: 'rev of the parent, which has this threadMeta from then on' })

/** Reaction string to the ids of those who hold it. Keys are free text, so it is built without a prototype. */
export const Reactions = Type.Unsafe<Record<string, string[]>>({
  type: 'object',
  additionalProperties: { type: 'array', items: { type: 'string' } },
  description: 'Reaction to the ids of the people who hold it, in the order they reacted',
})
export type Reactions = Static<typeof Reactions>

/** Names are free text, so it is built without a prototype. */
export const ImageSizes = Type.Unsafe<Record<string, [width: number, height: number]>>({
  type: 'object',
  additionalProperties: { type: 'array', items: { type: 'integer' } },
  description:
    'Width and height in pixels of each image, by its name in `images`; an image of unknown size is left out',
})
export type ImageSizes = Static<typeof ImageSizes>

export const Preview = Type.Object({
  url: Type.String({ description: 'As the content has it' }),
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
  rev: Type.Integer({ description: 'Grows with every change of the message: keep the higher' }),
  author: Author,
  content: Type.String(),
  blocks: Type.Array(Type.Unsafe<MessageBlock>({ type: 'object', additionalProperties: true }), {
    description:
      'What to show instead of `content`, which has the same words: Slack’s Block Kit, with texts of type `mrkdwn` in Parley’s markup (docs/integrations.md)',
  }),
  attachments: Type.Array(Attachment),
  images: Type.Array(Type.String()),
  imageSizes: ImageSizes,
  previews: Type.Array(Preview, { description: 'What the first links of the content lead to, some seconds later' }),
  quotedMessageId: Nullable(Type.String()),
  mentions: Type.Array(Type.String(), { description: 'User ids, group:<id>, @channel, @here' }),
  pinnedAt: Nullable(Timestamp),
  createdAt: Timestamp,
  updatedAt: Nullable(Timestamp),
  reactions: Reactions,
  threadMeta: Nullable(ThreadMeta),
  nonce: Type.Optional(
    Type.String({ description: 'What the sender gave: only in the reply to the send and in its NEW_… event' }),
  ),
})
export type Message = Static<typeof Message>

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
      'When its app replaced it: it takes the place of the message with the same `id`. With an empty `content` and no `blocks` it takes that message away',
  }),
  clickToken: Nullable(
    Type.String({
      description: 'For `POST /messages/:messageId/actions`, when the message has buttons. Opaque, valid for a day',
    }),
  ),
})
export type EphemeralMessage = Static<typeof EphemeralMessage>
