import { findReadable, isConversationId, rowIdOf } from '@parley/access'
import { isBot } from '@parley/accounts'
import { lengthOf, limits, type Message, type User } from '@parley/contract'
import { slackRefusal } from '@parley/service'
import { InvalidBlocks, type MrkdwnNames, markdownToMarkup, mentionedIds, safeText, slackTs } from '@parley/slack'
import { messagesPath } from '../api-paths.ts'
import { sendEphemeralMessage } from '../apps/ephemeral-messages.ts'
import { isLeftOut, type KeptContent, readContent, textsOf } from '../hooks/read-payload.ts'
import { findSlackMessage } from '../slack-objects/slack-objects.ts'
import { findNamesIn, findUserNames } from '../slack-objects/slack-references.queries.ts'
import { type Arguments, type ErrorCodes, jsonOf, requireWriteScope, type SlackCall, textOf } from './slack-call.ts'
import { findChannelId, findMessageByTs } from './targets.ts'

/** `chat.postMessage` */
export const postMessage = async (call: SlackCall) => post(call, await readBody(call))

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
    createsMessage: true,
  } as const
  const { message: sent, reply } = await call.ask(request, errorCodes)
  const stored: Message = reply ?? sent
  const message = await findSlackMessage(call.deps, stored)
  return { channel, ts: message.ts, message, ...warningOf(call) }
}

/** The warning, in the form of Slack, that the text was cut because a message cannot be so long. */
export const warningOf = ({ args }: SlackCall) =>
  lengthOf(textOf(args, 'text')) > limits.content && {
    warning: 'message_truncated',
    response_metadata: { warnings: ['message_truncated'] },
  }

/** `chat.postEphemeral`: sends a message to one person who may read the channel, without storing it. */
export async function postEphemeral(call: SlackCall) {
  const { deps, ask, args, caller } = call
  requireWriteScope(call)
  const userId = textOf(args, 'user', 'user_not_in_channel')
  const content = await readBody(call)
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
  const { appUrl } = call.deps.config.auth
  const thread = message.threadId ? `/t/${message.threadId}` : ''
  return { channel, permalink: `${appUrl}/c/${encodeURIComponent(channel)}${thread}/m/${id}` }
}

/** The arguments `text`, `blocks` and `attachments`. @throws ProtocolRefusal when `markdown_text` is given beside a text or blocks. */
export function payloadOf({ args }: SlackCall): Arguments {
  const blocks = jsonOf(args, 'blocks', 'invalid_blocks_format')
  const attachments = jsonOf(args, 'attachments', 'invalid_attachments_format')
  const markdown = textOf(args, 'markdown_text')
  if (markdown === '') return { ...args, blocks, attachments, markdown_text: undefined }
  if (textOf(args, 'text') !== '' || !isLeftOut(blocks)) throw slackRefusal('markdown_text_conflict')
  if (lengthOf(markdown) > longestMarkdown) throw slackRefusal('msg_too_long')
  return { ...args, text: undefined, blocks, attachments, markdown_text: markdown }
}

/** Slack's limit for `markdown_text`. */
const longestMarkdown = 12_000

/**
 * The content in `text` or `markdown_text`, `blocks` and `attachments` of the arguments, and what the message keeps. @throws ProtocolRefusal when there
 * is none.
 */
export async function readBody(call: SlackCall, payload = payloadOf(call), kept: KeptContent = {}) {
  if (textOf(call.args, 'text').length > 40_000) throw slackRefusal('msg_too_long')
  const names = await findVisibleNamesIn(call, textsOf(payload))
  try {
    const markdown = textOf(payload, 'markdown_text')
    const written = markdown !== '' && {
      content: markdownToMarkup(safeText(markdown, limits.content), names),
      blocks: [],
    }
    const content = readContent(payload, names, { ...kept, ...written })
    if (!content) throw slackRefusal('no_text')
    return content
  } catch (error) {
    if (error instanceof InvalidBlocks) throw slackRefusal('invalid_blocks', { details: error.message })
    throw error
  }
}

/** The names to which a text refers. A guest gets only the names of people whom they can see, and none of channels. */
async function findVisibleNamesIn(call: SlackCall, mrkdwn: string): Promise<MrkdwnNames> {
  if (call.caller.role !== 'guest') return findNamesIn(call.deps.db, mrkdwn)
  const users = await findVisibleNames(call, mentionedIds(mrkdwn))
  return { user: (id) => users.get(id), channel: () => undefined }
}

/** Names of the people with these ids. A guest gets only the names of people whom they can see. */
async function findVisibleNames(
  { deps, ask, caller }: SlackCall,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const names = await findUserNames(deps.db, ids)
  if (caller.role !== 'guest' || names.size === 0) return names
  const query = new URLSearchParams({ ids: [...names.keys()].join(',') })
  const { users }: { users: User[] } = await ask({ service: 'directory', method: 'GET', path: `/users?${query}` })
  return new Map(users.map(({ id, userName }) => [id, userName]))
}
