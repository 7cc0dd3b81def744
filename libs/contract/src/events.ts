import { type Static, Type } from 'typebox'
import { Channel, ChannelPreferences, Conversation, ReadState } from './channels.ts'
import { Id, Nullable } from './fields.ts'
import { limits } from './limits.ts'
import { EphemeralMessage, Message, ParentRev, SavedState, ThreadMeta } from './messages.ts'
import { ThreadReadState } from './threads.ts'
import { Group, Presence, Role, User, UserView } from './users.ts'

const seqOfDeleted = Type.Integer({
  description: 'seq that the message had. It was unread only for people whose readSeq is lower',
})
const MessageRef = Type.Object({ id: Id, channelId: Type.String(), seq: seqOfDeleted })
const ReactionChange = Type.Object({
  messageId: Id,
  channelId: Type.String(),
  userId: Id,
  reaction: Type.String(),
  rev: Type.Integer({ description: 'rev of the message after this change' }),
})
const DirectMessage = Type.Object({ ...Message.properties, participants: Type.Array(Id) })
const WebhookRef = Type.Object({ id: Id, name: Type.String(), channelId: Id })
const ThreadReply = Type.Object({
  parentMessageId: Id,
  channelId: Id,
  reply: Message,
  threadMeta: Nullable(ThreadMeta),
  parentRev: ParentRev,
})
const Joined = Type.Array(Id, { description: 'Ids of the people who became members with this change' })
const Left = Type.Array(Id, { description: 'Ids of the people who are no longer members with this change' })
const ChannelPayload = Type.Object({
  ...Channel.properties,
  members: Type.Optional({
    ...Channel.properties.members,
    description: `Ids of the people who joined or were added; absent when there are more than ${limits.eventMembers}`,
  }),
})

/**
 * Every event on the wire: `{type, payload}`. One line here is the whole contract of an event; clients, the realtime
 * nodes and the tests read it from this table.
 */
export const eventPayloads = {
  CONNECTED: Type.Object({
    message: Type.String(),
    timestamp: Type.String(),
    userId: Id,
    /** Servers of the previous version do not send it. */
    role: Type.Optional(Role),
    connectionId: Type.String(),
    resumed: Type.Boolean({ description: 'false: events may have been missed, fetch everything again' }),
  }),
  NEW_MESSAGE: Message,
  UPDATE_MESSAGE: Message,
  DELETE_MESSAGE: MessageRef,
  /** A client that could not read the channel before treats everything up to `lastSeq` as read. */
  NEW_CHANNEL: Type.Object({ ...ChannelPayload.properties, lastSeq: Type.Integer() }),
  UPDATE_CHANNEL: Type.Object({
    ...ChannelPayload.properties,
    joined: Type.Optional(Joined),
    left: Type.Optional(Left),
  }),
  DELETE_CHANNEL: Type.Object({ id: Id, name: Type.String() }),
  NEW_REACTION: ReactionChange,
  DELETE_REACTION: ReactionChange,
  NEW_USER: User,
  REMOVE_USER: Type.Object({ id: Id, email: Type.String() }),
  USER_EXIT: Type.Object({ id: Id, userName: Type.String() }),
  /**
   * A change of more than `limits.eventMembers` people is split: some are in this event, the others in UPDATE_GROUP
   * events that follow.
   */
  NEW_GROUP: Type.Object({ ...Group.properties, joined: Joined }),
  UPDATE_GROUP: Type.Object({ ...Group.properties, joined: Joined, left: Left }),
  DELETE_GROUP: Type.Object({ id: Id }),
  UPDATE_USER: UserView,
  /** Each of the two people gets their own event, in which `otherUser` is the other one. */
  NEW_CONVERSATION: Conversation,
  NEW_DM_MESSAGE: DirectMessage,
  UPDATE_DM_MESSAGE: DirectMessage,
  DELETE_DM_MESSAGE: Type.Object({
    id: Id,
    channelId: Type.String(),
    conversationId: Type.String(),
    seq: seqOfDeleted,
    participants: Type.Array(Id),
  }),
  NEW_THREAD_REPLY: ThreadReply,
  /** `threadMeta` is the parent's. */
  UPDATE_THREAD_REPLY: Type.Object({ ...Message.properties, parentMessageId: Id, parentRev: ParentRev }),
  DELETE_THREAD_REPLY: Type.Object({
    id: Id,
    threadId: Id,
    channelId: Id,
    threadMeta: Nullable(ThreadMeta),
    parentRev: ParentRev,
  }),
  NEW_WEBHOOK: WebhookRef,
  /**
   * For admins: the admin who is responsible for the webhook has left or is no longer an admin, or the webhook has such
   * an admin again.
   */
  UPDATE_WEBHOOK: Type.Object({ ...WebhookRef.properties, createdBy: Id, isOrphaned: Type.Boolean() }),
  DELETE_WEBHOOK: Type.Object({ id: Id, channelId: Id }),
  UPDATE_SERVER_SETTINGS: Type.Object({ name: Type.String() }),
  PRESENCE_UPDATE: Presence,
  /** The counts are those at `lastSeq`. A NEW_MESSAGE with a higher seq, before or after this event, adds to them. */
  READ_UPDATE: Type.Object({ channelId: Type.String(), ...ReadState.properties }),
  UPDATE_CHANNEL_PREFERENCES: Type.Object({ channelId: Type.String(), ...ChannelPreferences.properties }),
  /**
   * The person has read replies, or follows the thread or no longer does, or the thread has its first unread reply for them, or its last
   * unread reply or its message was deleted. Only to this person. The counts are those at `lastSeq`.
   */
  THREAD_READ_UPDATE: ThreadReadState,
  /** Only to the person who has saved the message, or no longer saves it. */
  SAVED_UPDATE: SavedState,
  /** A message of an app or the server to one person in a channel. It is never stored. */
  EPHEMERAL_MESSAGE: EphemeralMessage,
  TYPING: Type.Object({ channelId: Type.String(), userId: Id, userName: Type.String() }),
} as const

export type EventType = keyof typeof eventPayloads
export type EventPayload<T extends EventType> = Static<(typeof eventPayloads)[T]>
/** One event as clients receive it. */
export type WireEvent = { [T in EventType]: { type: T; payload: EventPayload<T> } }[EventType]

/**
 * Who gets an event. The realtime node decides at delivery:
 * - `everyone`: every open stream. With `guests`: the streams of everybody who is not a guest, and of these guests.
 * - `users`: the streams of these people.
 * - `joined`: the streams of these people that were opened with `scope=joined`. These streams must learn when the
 *   person joins or leaves a channel. Other streams show every channel that the person may read.
 * - `channel`: the audience of a channel (everyone for a public one; members and admins for a private one). `version`
 *   is the channel's membership version when the event was recorded: a node that knows an older version reloads the
 *   members first. `mentions` are the people whom the event's message mentions by name, and the groups (`group:<id>`).
 *   These people get the event on streams of `scope=joined` even if they have not joined the channel. With `scopedOnly`
 *   only streams of `scope=joined` get the event, because the other streams get the same facts in another event.
 * - `outsiders`: everyone with the role `member` who is not one of `members`, when `channel` became private or public again.
 * - `nobody`: no stream. The event only carries `Control` for the nodes.
 */
export type Audience =
  | { to: 'everyone'; guests?: string[] }
  | { to: 'users'; users: string[] }
  | { to: 'joined'; users: string[] }
  | { to: 'channel'; channel: string; version: number; mentions?: string[]; scopedOnly?: true }
  | { to: 'outsiders'; members: string[]; channel?: string }
  | { to: 'nobody' }

/** What a realtime node must do before it delivers the event. `pin` is for the receivers of subscriptions. */
export interface Control {
  /** Ended sessions, whose streams must end. */
  endSessions?: string[]
  /** Users whose role changed, or who were deactivated or removed. The node reads them again. */
  reloadUsers?: string[]
  /** Groups whose members changed. The node reads them again when they are mentioned. */
  reloadGroups?: string[]
  /**
   * Of a channel's event: who joined and who left since the previous version. It is set only where nothing else about
   * the channel's readers changed. Without it, a node that knows an older version reads the members again.
   */
  membership?: { joined: string[]; left: string[] }
  /** Of a changed message: the only change is that somebody pinned or unpinned it. */
  pin?: { by: string; isPinned: boolean }
}

/** Stored with the event in the outbox and sent to the realtime nodes. Clients never see it. */
export type Routing = Audience & Control

export const everyone: Audience = { to: 'everyone' }
export const nobody: Audience = { to: 'nobody' }
/** All streams of these people. */
export const onlyUsers = (...users: string[]): Audience => ({ to: 'users', users })
/** The streams of these people that were opened with `scope=joined`. */
export const onlyJoinedStreams = (...users: string[]): Audience => ({ to: 'joined', users })

/**
 * `channel.id` is the row id, `channel.membersVersion` the version that the recording transaction read under its lock. Of
 * `mentions` only people and groups count, not `@channel` and `@here`.
 */
export function audienceOf(
  channel: { id: string; membersVersion: number },
  mentions: readonly string[] = [],
): Extract<Audience, { to: 'channel' }> {
  const people = mentions.filter((mention) => !mention.startsWith('@'))
  return {
    to: 'channel',
    channel: channel.id,
    version: channel.membersVersion,
    ...(people.length > 0 && { mentions: [...new Set(people)] }),
  }
}
