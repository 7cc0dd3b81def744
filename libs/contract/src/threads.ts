import { type Static, Type } from 'typebox'
import { Id } from './fields.ts'
import { Message } from './messages.ts'

/** How far a person has read the replies to a message, and whether they follow them. */
export const ThreadReadState = Type.Object({
  messageId: Id,
  channelId: Id,
  lastSeq: Type.Integer({ description: 'seq of the newest reply, 0 when there is none' }),
  readSeq: Type.Integer({ description: 'seq up to which the caller has read the replies' }),
  unreadCount: Type.Integer({ description: 'Replies of others after `readSeq`. 0 for somebody who does not follow' }),
  isFollowing: Type.Boolean(),
})
export type ThreadReadState = Static<typeof ThreadReadState>

const { lastSeq, readSeq, unreadCount } = ThreadReadState.properties
export const FollowedThread = Type.Object({
  message: { ...Message, description: 'The message to which the replies belong' },
  lastReply: { ...Message, description: 'The newest reply' },
  lastSeq,
  readSeq,
  unreadCount,
  isFollowing: Type.Literal(true),
})
export type FollowedThread = Static<typeof FollowedThread>
