import { findReadable, isConversationId, rowIdOf } from '@parley/access'
import { type Conversation, firstCharacters, limits } from '@parley/contract'
import { isRowId } from '@parley/database'
import { slackRefusal } from '@parley/service'
import { parseTs } from '@parley/slack'
import { conversationPath } from '../api-paths.ts'
import { findKinds } from '../slack-objects/slack-references.queries.ts'
import { type FoundMessage, findByTs } from '../slack-objects/slack-timestamps.queries.ts'
import { type SlackCall, textOf } from './slack-call.ts'

/*
 * These functions find the channel, the conversation and the message that the arguments of a call name.
 */

/**
 * The id of the channel or conversation that the argument `channel` names: an id, `#name`, or the id of a person for a direct message.
 * @throws ProtocolRefusal `channel_not_found`.
 */
export async function findChannelId({ deps, ask, args }: SlackCall): Promise<string> {
  const given = textOf(args, 'channel', 'channel_not_found')
  if (isConversationId(given)) return given
  if (!isRowId(given)) {
    const name = given.replace(/^#/, '').toLowerCase()
    const { channels } = await ask({
      service: 'directory',
      method: 'GET',
      path: `/channels?members=false&q=${encodeURIComponent(firstCharacters(name, limits.channelName))}`,
    })
    const found = channels.find((channel: { name: string }) => channel.name.toLowerCase() === name)
    if (!found) throw slackRefusal('channel_not_found')
    return found.id
  }
  // This is no check of rights. The request of the method makes it.
  if ((await findKinds(deps.db, [given])).has(given)) return given
  const { users } = await ask({ service: 'directory', method: 'GET', path: `/users?ids=${given}` })
  if (users.length === 0) return given
  const body = { targetUserId: given }
  const { conversation } = await ask({ service: 'messaging', method: 'POST', path: '/conversations', body })
  return conversation.id
}

/** The code of Slack for a method that this kind of channel or conversation does not have. */
export const notForThisType = 'method_not_supported_for_channel_type'

/** Like `findChannelId`, for methods that direct conversations do not have. @throws ProtocolRefusal also `notForThisType`. */
export async function findOnlyChannelId(call: SlackCall): Promise<string> {
  const id = await findChannelId(call)
  if (!isConversationId(id)) return id
  await findDirect(call, id)
  throw slackRefusal(notForThisType)
}

/** A direct conversation of the caller. @throws ProtocolRefusal `not_in_channel`, `channel_not_found`. */
export async function findDirect({ ask }: SlackCall, id: string): Promise<Conversation> {
  return (await ask({ service: 'messaging', method: 'GET', path: conversationPath(id) })).conversation
}

/** The message with this `ts` of a channel that the caller may read. @throws ProtocolRefusal with the code `missing`. */
export async function findMessageByTs(
  call: SlackCall,
  channelId: string,
  ts = call.args.ts,
  missing = 'message_not_found',
): Promise<FoundMessage> {
  if (parseTs(ts) === undefined) throw slackRefusal(missing)
  const found = await findByTs(call.deps.db, rowIdOf(channelId), ts)
  // Without this check, the error would reveal the times of messages to people who may not read the channel.
  if (found === undefined || !(await canReadChannel(call, channelId))) throw slackRefusal(missing)
  return found
}

/** Whether the caller may read this channel or conversation. */
export async function canReadChannel({ deps, caller: { userId } }: SlackCall, channelId: string): Promise<boolean> {
  const pair = { userId, channelId: rowIdOf(channelId) }
  return (await findReadable(deps.db, [pair]))(pair)
}
