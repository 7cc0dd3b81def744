import { isConversationId } from '@parley/access'
import type { Conversation } from '@parley/contract'
import { type Deps, slackRefusal } from '@parley/service'
import { channelPath } from '../api-paths.ts'
import { asSlackChannel, asSlackDirect } from '../slack-objects/slack-objects.ts'
import { findJoined } from '../slack-objects/slack-references.queries.ts'
import {
  type Arguments,
  listOf,
  numberOf,
  pageSize,
  readCursor,
  type SlackCall,
  textOf,
  writeCursor,
} from './slack-call.ts'
import { findChannelId, findDirect, findOnlyChannelId, notForThisType } from './targets.ts'
import { findUser } from './users.ts'

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
  const limit = numberOf(args, 'limit', pageSize)
  const types = typesOf(args)
  const withDirect = isOwn && types.includes('im')
  const after = readCursor(args) ?? (withDirect && types.length === 1 ? firstDirectPage : undefined)
  if (after?.startsWith(firstDirectPage)) return listDirect(call, { limit, after })
  const query = new URLSearchParams({
    members: 'false',
    order: 'id',
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

/** `conversations.members` */
export async function members(call: SlackCall) {
  const channel = await findChannelId(call)
  if (isConversationId(channel))
    return { members: (await findDirect(call, channel)).participants, ...writeCursor(undefined) }
  const after = readCursor(call.args)
  const query = new URLSearchParams({
    order: 'id',
    limit: String(numberOf(call.args, 'limit', pageSize)),
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
  const path = `${channelPath(await findOnlyChannelId(call))}/join`
  await call.ask({ service: 'directory', method: 'POST', path }, { 403: notForThisType })
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
  const [targetUserId] = others
  if (targetUserId === undefined) throw slackRefusal('user_not_found', 'users must name somebody other than yourself')
  if (others.size > 1) throw slackRefusal('too_many_users', 'A conversation has two people')
  const request = { service: 'messaging', method: 'POST', path: '/conversations', body: { targetUserId } } as const
  const { conversation, isNew } = await ask(request, { 400: 'user_not_found' })
  return { channel: { id: conversation.id, is_im: true, user: targetUserId }, already_open: !isNew }
}
