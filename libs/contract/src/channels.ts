import { type Static, Type } from 'typebox'
import { Id, Nullable, Timestamp } from './fields.ts'

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

export const Conversation = Type.Object({
  id: Type.String({ description: 'dm:…' }),
  participants: Type.Array(Id, { description: 'The ids of both people, in ascending order' }),
  otherUser: Type.Object({ id: Id, userName: Type.String() }),
  createdAt: Timestamp,
})
export type Conversation = Static<typeof Conversation>

/** How far the caller has read a channel or conversation. Listings add it to each entry. */
export const ReadState = Type.Object({
  lastSeq: Type.Integer({ description: 'seq of the newest message, 0 when there is none' }),
  readSeq: Type.Integer({ description: 'seq up to which the caller has read' }),
  unreadCount: Type.Integer(),
  mentionCount: Type.Integer(),
})
export type ReadState = Static<typeof ReadState>

/** What the caller has set for a channel or conversation. Listings add it to each entry. */
export const ChannelPreferences = Type.Object({
  isMuted: Type.Boolean({ description: 'Clients notify the caller only of mentions' }),
  isFavourite: Type.Boolean({ description: 'Clients list it before the others' }),
  notifiesOfAll: Type.Boolean({
    description: 'Clients notify the caller of every message of the channel, unless it is muted',
  }),
})
export type ChannelPreferences = Static<typeof ChannelPreferences>
