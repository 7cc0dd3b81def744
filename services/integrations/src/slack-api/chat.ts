import { findReadable, isConversationId, rowIdOf } from '@parley/access'
import { isBot } from '@parley/accounts'
import type { Message } from '@parley/contract'
import { messageAddress, slackRefusal } from '@parley/service'
import { slackTs } from '@parley/slack'
import { messagesPath } from '../api-paths.ts'
import { sendEphemeralMessage } from '../apps/ephemeral-messages.ts'
import { findSlackMessage } from '../slack-objects/slack-objects.ts'
import { findVisibleNames, readMessageContent, warningOf } from './message-content.ts'
import { type ErrorCodes, requireWriteScope, type SlackCall, textOf } from './slack-call.ts'
import { findChannelId, findMessageByTs } from './targets.ts'

/** `chat.postMessage` */
export const postMessage = async (call: SlackCall) => post(call, await readMessageContent(call))

/**
 * Posts to the channel, or the thread, that the arguments name. A direct conversation has no threads: a reply there quotes
 * the message.
 */
export async function post(call: SlackCall, body: object, errorCodes: ErrorCodes = {}) {
  const channel = await findChannelId(call)
  const { thread_ts: threadTs } = call.args
  const hasThread = threadTs !== undefined && threadTs !== null && threadTs !== ''
  const found = hasThread ? await findMessageByTs(call, channel, threadTs, 'thread_not_found') : undefined
  const isReply = found !== undefined && !isConversationId(channel)
  const path = isReply ? `/messages/${found.threadId ?? found.id}/thread` : messagesPath(channel)
  const quote = found && !isReply && { quotedMessageId: found.id }
  const request = {
    service: 'messaging',
    method: 'POST',
    path,
    body: { ...body, ...quote },
    isKeyed: true,
  } as const
  const { message: sent, reply } = await call.ask(request, errorCodes)
  const stored: Message = reply ?? sent
  const message = await findSlackMessage(call.deps, stored)
  return { channel, ts: message.ts, message, ...warningOf(call) }
}

/** `chat.postEphemeral`: sends a message to one person who may read the channel, without storing it. */
export async function postEphemeral(call: SlackCall) {
  const { deps, ask, args, caller } = call
  requireWriteScope(call)
  const userId = textOf(args, 'user', 'user_not_in_channel')
  const content = await readMessageContent(call)
  const channelId = await findChannelId(call)
  // This request refuses callers who may not read the channel.
  await ask(
    { service: 'messaging', method: 'GET', path: `${messagesPath(channelId)}?limit=1` },
    { 403: 'not_in_channel' },
  )
  if (!(await findVisibleNames(call, [userId])).has(userId)) throw slackRefusal('user_not_in_channel')
  const pair = { userId, channelId: rowIdOf(channelId) }
  const isReadable = await findReadable(deps.db, [pair])
  if (!isReadable(pair)) throw slackRefusal('user_not_in_channel')
  const author = {
    id: caller.userId,
    userName: caller.userName,
    ...((await isBot(deps.db, caller.userId)) && { isBot: true }),
  }
  const { createdAt } = sendEphemeralMessage(deps, { to: { userId, channelId }, author }, content)
  return { message_ts: slackTs(createdAt * 1_000) }
}

/** `chat.delete` */
export async function deleteMessage(call: SlackCall) {
  const channel = await findChannelId(call)
  const { id } = await findMessageByTs(call, channel)
  const errorCodes = { 403: 'cant_delete_message', 404: 'message_not_found' }
  await call.ask({ service: 'messaging', method: 'DELETE', path: `/messages/${id}` }, errorCodes)
  return { channel, ts: String(call.args.ts) }
}

/** `chat.getPermalink` */
export async function getPermalink(call: SlackCall) {
  const channel = await findChannelId(call)
  const { id } = await findMessageByTs(call, channel, call.args.message_ts)
  const path = `/messages/${id}`
  const { message }: { message: Message } = await call.ask(
    { service: 'messaging', method: 'GET', path },
    { 403: 'message_not_found', 404: 'message_not_found' },
  )
  return { channel, permalink: messageAddress(call.deps.config.auth.appUrl, message) }
}
