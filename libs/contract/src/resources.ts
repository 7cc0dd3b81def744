import { type Static, type TSchema, Type } from 'typebox'

/** Epoch milliseconds. */
export const Timestamp = Type.Integer({ description: 'Epoch milliseconds', examples: [1_790_000_000_000] })

export const Id = Type.String({ description: 'Opaque identifier', maxLength: 200 })

/** `T` or null, as one JSON Schema with two types: serializers handle it without trying alternatives. */
export const Nullable = <T extends TSchema & { type: string }>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ ...schema, type: [schema.type, 'null'] })

export const UserView = Type.Object({
  id: Id,
  userName: Type.String(),
  email: Type.String(),
  isAdmin: Type.Boolean(),
  avatarVersion: Nullable(Type.String({ description: 'Of the avatar at /users/{id}/avatar/{version}' })),
})
export type UserView = Static<typeof UserView>

export const User = Type.Object({ ...UserView.properties, createdAt: Timestamp })
export type User = Static<typeof User>

export const Channel = Type.Object({
  id: Id,
  name: Type.String(),
  topic: Nullable(Type.String()),
  isPrivate: Type.Boolean(),
  members: Type.Array(Id, { description: 'Ids of the people who joined or were added' }),
  memberCount: Type.Integer({ description: 'How many people joined or were added' }),
  createdBy: Nullable(Id),
  createdAt: Timestamp,
  updatedAt: Nullable(Timestamp),
})
export type Channel = Static<typeof Channel>

/** Where the caller stands in a channel or conversation; added to listings. */
export const ReadState = Type.Object({
  lastSeq: Type.Integer({ description: 'seq of the newest message, 0 when there is none' }),
  readSeq: Type.Integer({ description: 'seq up to which the caller has read' }),
  unreadCount: Type.Integer(),
  mentionCount: Type.Integer(),
})
export type ReadState = Static<typeof ReadState>

export const Conversation = Type.Object({
  id: Type.String({ description: 'dm:…' }),
  participants: Type.Array(Id, { description: 'The two of them, in the order of their ids' }),
  otherUser: Type.Object({ id: Id, userName: Type.String() }),
  createdAt: Timestamp,
})
export type Conversation = Static<typeof Conversation>

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
})
export type Author = Static<typeof Author>

export const ThreadMeta = Type.Object({
  replyCount: Type.Integer(),
  lastReplyAt: Timestamp,
  lastReplyBy: Type.Object({ id: Id, userName: Type.String() }),
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

export const Message = Type.Object({
  id: Id,
  channelId: Type.String({ description: 'Channel id, or conversation id (dm:…) of a direct message' }),
  threadId: Nullable(Type.String({ description: 'Parent message id of a reply' })),
  seq: Type.Integer({ description: 'Gapless position within its channel, conversation or thread' }),
  rev: Type.Integer({ description: 'Grows with every change of the message: keep the higher' }),
  author: Author,
  content: Type.String(),
  attachments: Type.Array(Attachment),
  images: Type.Array(Type.String()),
  imageSizes: ImageSizes,
  quotedMessageId: Nullable(Type.String()),
  mentions: Type.Array(Type.String(), { description: 'User ids, @channel, @here' }),
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

export const Webhook = Type.Object({
  id: Id,
  name: Type.String(),
  channelId: Type.String({ description: 'The only channel it posts to' }),
  createdAt: Timestamp,
  createdBy: Id,
  lastPostedAt: Nullable({ ...Timestamp, description: 'When it last posted, in epoch milliseconds' }),
})
export type Webhook = Static<typeof Webhook>

export const ListedWebhook = Type.Object({
  ...Webhook.properties,
  isOrphaned: Type.Boolean({
    description:
      'Whether `createdBy` is an admin no longer, or has left: it goes on posting, and nobody answers for it',
  }),
})
export type ListedWebhook = Static<typeof ListedWebhook>

export const Session = Type.Object({
  id: Id,
  createdAt: Timestamp,
  lastUsedAt: Timestamp,
  expiresAt: Timestamp,
  ip: Nullable(Type.String()),
  userAgent: Nullable(Type.String()),
  isCurrent: Type.Boolean(),
})
export type Session = Static<typeof Session>

export const PresenceStatus = Type.Enum(['online', 'away', 'offline'])
export type PresenceStatus = Static<typeof PresenceStatus>

export const Presence = Type.Object({
  userId: Id,
  status: PresenceStatus,
  lastSeen: Timestamp,
})
export type Presence = Static<typeof Presence>

export const ServerSettings = Type.Object({ name: Type.String() })
export type ServerSettings = Static<typeof ServerSettings>

export const Tokens = Type.Object({
  accessToken: Type.String(),
  refreshToken: Type.String(),
  exp: Type.Integer({ description: 'Lifetime of the access token in seconds' }),
  tokenType: Type.Literal('Bearer'),
})
export type Tokens = Static<typeof Tokens>

/**
 * The reply to every sign-in and refresh. With `X-Parley-Session: cookie` the refresh token is in a cookie that no script can read, and
 * not in the body.
 */
export const TokenReply = Type.Object({
  ...Tokens.properties,
  refreshToken: Type.Optional(
    Type.String({ description: 'Left out with `X-Parley-Session: cookie`: a cookie holds the refresh token then' }),
  ),
})
export type TokenReply = Static<typeof TokenReply>

export const Ok = Type.Object({ success: Type.Literal(true) })

/** Longest allowed texts: in code points, as JSON Schema counts. `lengthOf` counts them where no schema does. */
export const limits = {
  userName: 64,
  channelName: 80,
  topic: 250,
  content: 16_000,
  search: 1_000,
  reaction: 64,
  serverName: 80,
  webhookName: 80,
  mentions: 50,
  pageSize: 200,
  /** Members of a channel whose ids its events carry. */
  eventMembers: 200,
  /** Of people and of their presence, which are short. */
  peoplePageSize: 1_000,
  email: 254,
  shortestPassword: 8,
  password: 1_000,
  idempotencyKey: 255,
  nonce: 64,
  /** Of a message, and as many images. */
  attachments: 50,
  storedName: 100,
  /** Bytes. */
  file: 25 * 1024 * 1024,
  image: 10 * 1024 * 1024,
  thumbnail: 1024 * 1024,
  avatar: 1024 * 1024,
} as const

/** The length of a text in code points: an emoji beyond the Basic Multilingual Plane is one, not two as in `text.length`. */
export function lengthOf(text: string): number {
  let length = 0
  for (let at = 0; at < text.length; at += text.codePointAt(at)! > 0xffff ? 2 : 1) length++
  return length
}

/** The first code points of a text. */
export const firstCharacters = (text: string, count: number): string =>
  // No code point takes more than two code units.
  [...text.slice(0, 2 * count)].slice(0, count).join('')

/** Of a POST that creates something: repeated with the same key, it is carried out once. */
export const IdempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.idempotencyKey,
      pattern: '^[ -~\\u00a1-\\u00ff]+$',
      description:
        'Any text that is new for each thing to be created: within 24 hours a repeated request gets the first answer again',
    }),
  ),
})

/** Header of sign-in, refresh and logout for browsers: the refresh token travels in a cookie. */
export const SessionHeaders = Type.Object({
  'x-parley-session': Type.Optional(
    Type.Enum(['cookie'], {
      description:
        'With `cookie` the refresh token is set, read and removed as an HttpOnly cookie, and is never in a body',
    }),
  ),
})

/** A password that somebody chooses. */
export const NewPassword = Type.String({
  minLength: limits.shortestPassword,
  maxLength: limits.password,
  description: `At least ${limits.shortestPassword} characters`,
})

/** Items of a page, where neither the request nor the listing says otherwise. */
export const usualPageSize = 50

/** What a listing takes that is whole without any of it. */
export const ListingQuery = (most: number) =>
  Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, description: `A page of so many, ${most} at most; the whole listing without it` }),
    ),
    after: Type.Optional(
      Type.String({ description: `Id of the last item of the page before; without limit the next ${usualPageSize}` }),
    ),
  })

export const HasMore = Type.Boolean({ description: 'Whether there is another page; false for the whole listing' })

/** `limit` of a listing: an integer of at least 1; more than the largest page is treated as the largest page. */
export const PageLimit = (byDefault: number = usualPageSize) => Type.Integer({ minimum: 1, default: byDefault })
