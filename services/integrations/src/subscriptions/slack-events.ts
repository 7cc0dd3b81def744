import { isConversationId } from '@parley/access'
import { isBot } from '@parley/accounts'
import { type EventType, groupIdsIn, type Message, type Routing, type WireEvent } from '@parley/contract'
import { anyOf, type Reader } from '@parley/database'
import { slackTs } from '@parley/slack'
import { slackReactionName } from '../slack-objects/emoji-names.ts'
import { asSlackChannel, asSlackUser, findSlackMessage } from '../slack-objects/slack-objects.ts'
import { findKinds, type SlackSource } from '../slack-objects/slack-references.queries.ts'
import { findTsAndAuthor, findTsOf } from '../slack-objects/slack-timestamps.queries.ts'

const newMessages = ['NEW_MESSAGE', 'NEW_DM_MESSAGE', 'NEW_THREAD_REPLY'] as const
const changedMessages = ['UPDATE_MESSAGE', 'UPDATE_DM_MESSAGE', 'UPDATE_THREAD_REPLY'] as const
const deletedMessages = ['DELETE_MESSAGE', 'DELETE_DM_MESSAGE', 'DELETE_THREAD_REPLY'] as const

/** The events of Slack that bots can subscribe to, each with the events of Parley that cause it. */
const sources = {
  message: [...newMessages, ...changedMessages, ...deletedMessages],
  app_mention: ['NEW_MESSAGE', 'NEW_THREAD_REPLY'],
  reaction_added: ['NEW_REACTION'],
  reaction_removed: ['DELETE_REACTION'],
  member_joined_channel: ['UPDATE_CHANNEL'],
  member_left_channel: ['UPDATE_CHANNEL'],
  channel_created: ['NEW_CHANNEL'],
  pin_added: ['UPDATE_MESSAGE'],
  user_change: ['UPDATE_USER'],
} as const satisfies Record<string, readonly EventType[]>

type SlackEventType = keyof typeof sources
export const slackEventTypes = Object.keys(sources) as SlackEventType[]

/** The types of Parley's events that cause these events of Slack. */
export const sourcesOf = (types: readonly string[]): Set<string> =>
  new Set(slackEventTypes.filter((type) => types.includes(type)).flatMap((type) => sources[type]))

/** The field `event` of an `event_callback`. */
type SlackEvent = { type: SlackEventType; event_ts: string } & Record<string, unknown>

interface RecordedEvent {
  event: WireEvent
  routing: Routing
  recordedAt: number
}

/**
 * The events of Slack for one event of Parley: none, one or several, and only those of the given types. `botId` is the
 * bot that gets them. Messages that were permanently deleted meanwhile are left out.
 */
export async function asSlackEvents(
  source: SlackSource,
  { event, routing, recordedAt }: RecordedEvent,
  { botId, types }: { botId: string; types: ReadonlySet<string> },
): Promise<SlackEvent[]> {
  const event_ts = slackTs(recordedAt * 1_000)
  const requested = (await translate(source, event, routing, botId)).filter(({ type }) => types.has(type))
  return requested.map((each) => ({ event_ts, ...each }))
}

type SlackEventDraft = { type: SlackEventType; event_ts?: string } & Record<string, unknown>

async function translate(
  source: SlackSource,
  { type, payload }: WireEvent,
  routing: Routing,
  botId: string,
): Promise<SlackEventDraft[]> {
  switch (type) {
    case 'NEW_MESSAGE':
    case 'NEW_DM_MESSAGE':
      return messageEvents(source, payload, botId)
    case 'NEW_THREAD_REPLY':
      return messageEvents(source, payload.reply, botId)
    case 'UPDATE_MESSAGE':
      return routing.pin ? pinned(source, payload, routing.pin) : changed(source, payload)
    case 'UPDATE_DM_MESSAGE':
    case 'UPDATE_THREAD_REPLY':
      return changed(source, payload)
    case 'DELETE_MESSAGE':
    case 'DELETE_DM_MESSAGE':
    case 'DELETE_THREAD_REPLY':
      return deleted(source.db, payload)
    case 'NEW_REACTION':
    case 'DELETE_REACTION': {
      const { messageId, channelId, userId, reaction } = payload
      const message = await findTsAndAuthor(source.db, messageId)
      if (!message) return []
      const item = { type: 'message', channel: channelId, ts: message.ts }
      // As at Slack, messages of webhooks have no author here.
      const author = message.authorId !== null && { item_user: message.authorId }
      const name = type === 'NEW_REACTION' ? 'reaction_added' : 'reaction_removed'
      return [{ type: name, user: userId, reaction: slackReactionName(reaction), item, ...author }]
    }
    case 'UPDATE_CHANNEL': {
      const place = { channel: payload.id, channel_type: payload.isPrivate ? 'G' : 'C', team: 'parley' }
      const { joined = [], left = [] } = payload
      return [
        ...joined.map((user) => ({ type: 'member_joined_channel' as const, user, ...place })),
        ...left.map((user) => ({ type: 'member_left_channel' as const, user, ...place })),
      ]
    }
    case 'NEW_CHANNEL':
      // With another routing the channel is not new. It has only become visible to somebody.
      if (payload.isPrivate || routing.to !== 'channel') return []
      return [{ type: 'channel_created', channel: asSlackChannel(payload) }]
    case 'UPDATE_USER':
      return [{ type: 'user_change', user: asSlackUser({ ...payload, createdAt: 0 }) }]
    default:
      return []
  }
}

/** The events for a new message: `message`, and `app_mention` when it mentions the bot by its name or through a group. */
async function messageEvents(source: SlackSource, message: Message, botId: string): Promise<SlackEventDraft[]> {
  const shown = await shownMessage(source, message)
  const slackMessage = { ...shown, event_ts: shown.ts }
  const mentions = message.author.id !== botId && (await isMentioned(source.db, message.mentions, botId))
  return [
    { ...slackMessage, type: 'message' },
    ...(mentions ? [{ ...slackMessage, text: withMention(shown.text, botId), type: 'app_mention' as const }] : []),
  ]
}

/** Served by the primary key of group_members. */
async function isMentioned(db: Reader, mentions: readonly string[], botId: string): Promise<boolean> {
  if (mentions.includes(botId)) return true
  const groups = groupIdsIn(mentions)
  if (groups.length === 0) return false
  const members = db.selectFrom('groupMembers').select('groupId').where('groupId', '=', anyOf(groups))
  return (await members.where('userId', '=', botId).limit(1).executeTakeFirst()) !== undefined
}

/** The text with a mention of the bot by its id, because programs search for it. The text may mention only its group. */
const withMention = (text: string, botId: string) => (text.includes(`<@${botId}>`) ? text : `<@${botId}> ${text}`)

async function changed(source: SlackSource, message: Message): Promise<SlackEventDraft[]> {
  const { channel, channel_type, ...shown } = await shownMessage(source, message)
  return [
    { type: 'message', subtype: 'message_changed', hidden: true, channel, channel_type, message: shown, ts: shown.ts },
  ]
}

async function deleted(db: Reader, { id, channelId }: { id: string; channelId: string }): Promise<SlackEventDraft[]> {
  const message = await findTsAndAuthor(db, id)
  if (!message) return []
  const { ts } = message
  const place = { channel: channelId, channel_type: await kindOf(db, channelId) }
  const previous_message = await withoutContent(db, message)
  return [{ type: 'message', subtype: 'message_deleted', hidden: true, ...place, deleted_ts: ts, ts, previous_message }]
}

/** What is known about a deleted message. Its content is not stored any more. */
async function withoutContent(db: Reader, { ts, authorId, threadId }: TsAndAuthor) {
  const thread = threadId === null ? undefined : (await findTsOf(db, [threadId])).get(threadId)
  const author =
    authorId === null
      ? { subtype: 'bot_message' }
      : { user: authorId, ...((await isBot(db, authorId)) && { bot_id: authorId }) }
  return { type: 'message', ...author, ts, ...(thread !== undefined && { thread_ts: thread }) }
}

type TsAndAuthor = NonNullable<Awaited<ReturnType<typeof findTsAndAuthor>>>

async function pinned(
  source: SlackSource,
  message: Message,
  { by, isPinned }: NonNullable<Routing['pin']>,
): Promise<SlackEventDraft[]> {
  if (!isPinned) return []
  const { channel, channel_type: _, ...shown } = await shownMessage(source, message)
  return [{ type: 'pin_added', user: by, channel_id: channel, item: { type: 'message', channel, message: shown } }]
}

async function shownMessage(source: SlackSource, message: Message) {
  const shown = await findSlackMessage(source, message)
  return { ...shown, channel: message.channelId, channel_type: await kindOf(source.db, message.channelId) }
}

async function kindOf(db: Reader, channelId: string): Promise<string> {
  if (isConversationId(channelId)) return 'im'
  return (await findKinds(db, [channelId])).get(channelId) === 'private' ? 'group' : 'channel'
}
