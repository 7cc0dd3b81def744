import { isConversationId, rowIdOf } from '@parley/access'
import type { Conversation, Message } from '@parley/contract'
import { type Deps, slackRefusal } from '@parley/service'
import { parseMoment, parseTs } from '@parley/slack'
import { channelPath, messagesPath } from '../api-paths.ts'
import { asSlackChannel, asSlackDirect, asSlackMessage } from '../slack-objects/slack-objects.ts'
import { findJoined, findReferences } from '../slack-objects/slack-references.queries.ts'
import { findFirstMessageFrom } from '../slack-objects/slack-timestamps.queries.ts'
import { type Arguments, numberOf, readCursor, type SlackCall, textOf, writeCursor } from './slack-call.ts'
import { findChannelId, findDirect, findMessageByTs } from './targets.ts'
import { findUser } from './users.ts'

const page = { fallback: 100, most: 200 }

/** The cursor of the first page of direct conversations. The cursors of later pages are ids of conversations, which begin with it too. */
const firstDirectPage = 'dm:'

/** `conversations.list` */
export const listConversations = (call: SlackCall) => list(call, { isJoined: false })

/**
 * `users.conversations`: only the channels that the caller has joined. With the argument `user`, the channels of that
 * person that the caller can see.
 */
export const listJoinedConversations = (call: SlackCall) => list(call, { isJoined: true })

/** With the type `im`, the pages of channels are followed by pages of the caller's direct conversations. */
async function list(call: SlackCall, { isJoined }: { isJoined: boolean }) {
  const { deps, ask, args, caller } = call
  const userId = isJoined ? textOf(args, 'user') || caller.userId : caller.userId
  const isOwn = userId === caller.userId
  if (!isOwn) await findUser(call, userId)
  const limit = numberOf(args, 'limit', page)
  const types = typesOf(args)
  const withDirect = isOwn && types.includes('im')
  const after = readCursor(args) ?? (withDirect && types.length === 1 ? firstDirectPage : undefined)
  if (after?.startsWith(firstDirectPage)) return listDirect(call, { limit, after })
  const query = new URLSearchParams({
    members: 'false',
    limit: String(limit),
    ...(isJoined && isOwn && { scope: 'joined' }),
    ...(after !== undefined && { after }),
  })
  const { channels, hasMore } = await ask(
    { service: 'directory', method: 'GET', path: `/channels?${query}` },
    { 400: 'invalid_cursor' },
  )
  const wanted = channels.filter(({ isPrivate }: { isPrivate: boolean }) =>
    types.includes(isPrivate ? 'private_channel' : 'public_channel'),
  )
  const shown = isOwn ? wanted : await joinedBy(deps, userId, wanted)
  const next = hasMore ? channels.at(-1)?.id : withDirect ? firstDirectPage : undefined
  return { channels: shown.map(asSlackChannel), ...writeCursor(next) }
}

const knownTypes = ['public_channel', 'private_channel', 'mpim', 'im']

/** The argument `types` as a list, by default as at Slack. @throws ProtocolRefusal `invalid_types`. */
function typesOf(args: Arguments): string[] {
  const types = listOf(textOf(args, 'types') || 'public_channel')
  if (!types.every((type) => knownTypes.includes(type))) throw slackRefusal('invalid_types')
  return types
}

/** The items of a text in which commas separate them. */
const listOf = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)

async function joinedBy<Listed extends { id: string }>({ db }: Deps, userId: string, channels: Listed[]) {
  const ids = await findJoined(
    db,
    userId,
    channels.map(({ id }) => id),
  )
  return channels.filter(({ id }) => ids.has(id))
}

async function listDirect({ ask }: SlackCall, { limit, after }: { limit: number; after: string }) {
  const query = new URLSearchParams({ limit: String(limit), ...(after !== firstDirectPage && { after }) })
  const { conversations, hasMore }: { conversations: Conversation[]; hasMore: boolean } = await ask(
    { service: 'messaging', method: 'GET', path: `/conversations?${query}` },
    { 400: 'invalid_cursor' },
  )
  return { channels: conversations.map(asSlackDirect), ...writeCursor(hasMore ? conversations.at(-1)?.id : undefined) }
}

/** `conversations.info` */
export async function conversationInfo(call: SlackCall) {
  const id = await findChannelId(call)
  if (isConversationId(id)) return { channel: asSlackDirect(await findDirect(call, id)) }
  const path = channelPath(id)
  const { channel } = await call.ask({ service: 'directory', method: 'GET', path }, { 403: 'channel_not_found' })
  return { channel: asSlackChannel(channel) }
}

/** `conversations.history`: newest first. */
export async function history(call: SlackCall) {
  const { deps, args } = call
  const limit = numberOf(args, 'limit', page)
  const span = spanOf(args)
  const channel = await findChannelId(call)
  const path = `${messagesPath(channel)}?${new URLSearchParams({ limit: String(limit) })}`
  const get = (before: string | undefined) => {
    const asked = before === undefined ? path : `${path}&before=${encodeURIComponent(before)}`
    return call.ask({ service: 'messaging', method: 'GET', path: asked }, { 400: 'invalid_cursor' })
  }
  const cursor = readCursor(args)
  // This request comes first, because it refuses callers who may not read the channel.
  const newest = await get(cursor)
  const end = cursor === undefined ? await firstMessageAfter(deps, { channel, threadId: null }, span) : undefined
  const { messages, hasOlder }: { messages: Message[]; hasOlder: boolean } = end ? await get(end.id) : newest
  const references = await findReferences(deps, messages)
  const shown = messages.filter((message) => isWithin(span, references.of(message)))
  const more = hasOlder && shown.length > 0 && shown[0] === messages[0]
  return {
    messages: shown.toReversed().map((message) => asSlackMessage(message, references)),
    has_more: more,
    pin_count: 0,
    ...writeCursor(more ? messages[0]?.id : undefined),
  }
}

/** `conversations.replies`: the parent, then its replies, oldest first. */
export async function replies(call: SlackCall) {
  const { deps, args } = call
  const limit = numberOf(args, 'limit', page)
  const span = spanOf(args)
  const after = readCursor(args)
  const channel = await findChannelId(call)
  const found = await findMessageByTs(call, channel, args.ts, 'thread_not_found')
  const parentId = found.threadId ?? found.id
  const errorCodes = { 400: 'invalid_cursor', 404: 'thread_not_found' }
  const get = (path: string) => call.ask({ service: 'messaging', method: 'GET', path }, errorCodes)
  const { message: parent }: { message: Message } = await get(`/messages/${parentId}`)
  const start = await findStart(deps, { channel, threadId: parentId }, { after, from: span.from })
  const { replies: listed, hasNewer } = start
    ? await get(`/messages/${parentId}/thread?${new URLSearchParams({ limit: String(limit), ...start })}`)
    : { replies: [], hasNewer: false }
  const all: Message[] = [...(after === undefined ? [parent] : []), ...listed]
  const references = await findReferences(deps, all)
  const shown = all.filter((message) => message === parent || isWithin(span, references.of(message)))
  const more = hasNewer && (listed.length === 0 || isWithin(span, references.of(listed.at(-1))))
  return {
    messages: shown.map((message) => asSlackMessage(message, references)),
    has_more: more,
    ...writeCursor(more ? listed.at(-1)?.id : undefined),
  }
}

/**
 * The parameter that says where a page of replies begins: after the previous page, or at the first reply from a moment on.
 * Undefined when all replies are earlier, and for a direct conversation, which has no threads.
 */
async function findStart(
  deps: Deps,
  list: { channel: string; threadId: string },
  { after, from }: { after: string | undefined; from: number },
): Promise<{ after: string } | { aroundSeq: string } | undefined> {
  if (isConversationId(list.channel)) return undefined
  if (after !== undefined) return { after }
  if (from === 0) return { aroundSeq: '0' }
  const first = await firstMessageFrom(deps, list, from)
  return first && { aroundSeq: String(first.seq) }
}

/** A span from one `ts` to another in microseconds. Both ends belong to it. */
interface Span {
  from: number
  to: number
}

/** The span between the arguments `oldest` and `latest`. These two belong to it only with `inclusive`. */
function spanOf(args: Arguments): Span {
  const oldest = momentOf(args, 'oldest')
  const latest = momentOf(args, 'latest')
  const isInclusive = args.inclusive === true || /^(true|1)$/.test(textOf(args, 'inclusive'))
  return {
    from: oldest === undefined ? 0 : isInclusive ? oldest : oldest + 1,
    to: latest === undefined ? Number.MAX_SAFE_INTEGER : isInclusive ? latest : latest - 1,
  }
}

function momentOf(args: Arguments, name: string): number | undefined {
  const text = textOf(args, name)
  if (text === '') return undefined
  const moment = parseMoment(text)
  if (moment === undefined) throw slackRefusal(`invalid_ts_${name}`)
  return moment
}

const isWithin = ({ from, to }: Span, ts: string) => parseTs(ts)! >= from && parseTs(ts)! <= to

const firstMessageFrom = (
  { db }: Deps,
  { channel, threadId }: { channel: string; threadId: string | null },
  ts: number,
) => findFirstMessageFrom(db, { channelId: rowIdOf(channel), threadId }, ts)

/** The first message after the span; undefined when there is none. */
const firstMessageAfter = async (deps: Deps, list: { channel: string; threadId: null }, { to }: Span) =>
  to === Number.MAX_SAFE_INTEGER ? undefined : firstMessageFrom(deps, list, to + 1)

/** `conversations.members` */
export async function members(call: SlackCall) {
  const channel = await findChannelId(call)
  if (isConversationId(channel))
    return { members: (await findDirect(call, channel)).participants, ...writeCursor(undefined) }
  const after = readCursor(call.args)
  const query = new URLSearchParams({
    limit: String(numberOf(call.args, 'limit', page)),
    ...(after !== undefined && { after }),
  })
  const path = `${channelPath(channel)}/members?${query}`
  const { members: listed, hasMore } = await call.ask(
    { service: 'directory', method: 'GET', path },
    { 400: 'invalid_cursor' },
  )
  const ids: string[] = listed.map((member: { id: string }) => member.id)
  return { members: ids, ...writeCursor(hasMore ? ids.at(-1) : undefined) }
}

/** `conversations.join` */
export async function join(call: SlackCall) {
  const id = await findChannelId(call)
  const unsupported = 'method_not_supported_for_channel_type'
  if (isConversationId(id)) {
    await findDirect(call, id)
    throw slackRefusal(unsupported)
  }
  const path = `${channelPath(id)}/join`
  await call.ask({ service: 'directory', method: 'POST', path }, { 403: unsupported })
  return conversationInfo(call)
}

/**
 * `conversations.open`: with one other person, or an existing one by its id in `channel`. As at Slack, `users` may also
 * have the caller.
 */
export async function open(call: SlackCall) {
  const { ask, args, caller } = call
  if (textOf(args, 'users') === '' && isConversationId(textOf(args, 'channel'))) {
    return { ...(await conversationInfo(call)), already_open: true }
  }
  const users = listOf(textOf(args, 'users', 'users_list_not_supplied'))
  const others = new Set(users.filter((id) => id !== caller.userId))
  const [targetUserId = caller.userId] = others
  if (others.size > 1) throw slackRefusal('too_many_users', { details: 'A conversation has two people' })
  const request = { service: 'messaging', method: 'POST', path: '/conversations', body: { targetUserId } } as const
  const { conversation, isNew } = await ask(request, { 400: 'user_not_found' })
  return { channel: { id: conversation.id, is_im: true, user: targetUserId }, already_open: !isNew }
}
