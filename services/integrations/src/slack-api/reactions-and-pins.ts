import { isConversationId } from '@parley/access'
import type { Message } from '@parley/contract'
import { slackRefusal } from '@parley/service'
import { parseTs } from '@parley/slack'
import { channelPath } from '../api-paths.ts'
import { reactionOf, slackReactionName } from '../slack-objects/emoji-names.ts'
import { asSlackMessage, findSlackMessage } from '../slack-objects/slack-objects.ts'
import { findReferences } from '../slack-objects/slack-references.queries.ts'
import { type SlackCall, textOf } from './slack-call.ts'
import { findChannelId, findDirect, findMessageByTs } from './targets.ts'

/** `reactions.add` */
export async function addReaction(call: SlackCall) {
  const reaction = reactionOf(textOf(call.args, 'name', 'invalid_name'))
  if (reaction === undefined) throw slackRefusal('invalid_name')
  const { message } = await readTarget(call)
  const spellings = spellingsIn(message, slackReactionName(reaction))
  if (spellings.some(({ users }) => users.includes(call.caller.userId))) throw slackRefusal('already_reacted')
  const isNew = await changeReaction(call, 'POST', { id: message.id, reaction: spellings[0]?.reaction ?? reaction })
  if (!isNew) throw slackRefusal('already_reacted')
  return {}
}

/** `reactions.remove` */
export async function removeReaction(call: SlackCall) {
  const name = slackReactionName(textOf(call.args, 'name', 'invalid_name'))
  const { message } = await readTarget(call)
  const removals = spellingsIn(message, name)
    .filter(({ users }) => users.includes(call.caller.userId))
    .map(({ reaction }) => changeReaction(call, 'DELETE', { id: message.id, reaction }))
  if (!(await Promise.all(removals)).includes(true)) throw slackRefusal('no_reaction')
  return {}
}

/** `reactions.get` */
export async function getReactions(call: SlackCall) {
  const { channel, message } = await readTarget(call)
  return { type: 'message', channel, message: await findSlackMessage(call.deps, message) }
}

/** The reactions of a message that have this name in Slack. Other clients may have spelt one emoji in several ways. */
const spellingsIn = ({ reactions }: Message, name: string) =>
  Object.entries(reactions)
    .map(([reaction, users]) => ({ reaction, users }))
    .filter(({ reaction }) => slackReactionName(reaction) === name)

/** Returns false when the message had the reaction of the caller already, or did not have it. */
async function changeReaction(
  call: SlackCall,
  method: 'POST' | 'DELETE',
  { id, reaction }: { id: string; reaction: string },
): Promise<boolean> {
  const path = `/messages/${id}/reactions`
  const errorCodes = { 400: 'invalid_name', 403: 'message_not_found', 404: 'message_not_found' }
  const { isChanged } = await call.ask({ service: 'messaging', method, path, body: { reaction } }, errorCodes)
  return isChanged
}

/** `pins.add` */
export const addPin = (call: SlackCall) => changePin(call, 'POST')

/** `pins.remove` */
export const removePin = (call: SlackCall) => changePin(call, 'DELETE')

async function changePin(call: SlackCall, method: 'POST' | 'DELETE') {
  const { id } = await findTarget(call)
  const errorCodes = { 400: 'not_pinnable', 403: 'not_in_channel', 404: 'message_not_found' }
  const { isChanged } = await call.ask({ service: 'messaging', method, path: `/messages/${id}/pin` }, errorCodes)
  if (isChanged === false) throw slackRefusal(method === 'POST' ? 'already_pinned' : 'no_pin')
  return {}
}

/** `pins.list`. Direct messages cannot be pinned, so a conversation has no pins. */
export async function listPins(call: SlackCall) {
  const channel = await findChannelId(call)
  if (isConversationId(channel)) {
    await findDirect(call, channel)
    return { items: [] }
  }
  const path = `${channelPath(channel)}/pins`
  const { messages }: { messages: Message[] } = await call.ask({ service: 'messaging', method: 'GET', path })
  const references = await findReferences(call.deps, messages)
  return {
    items: messages.map((message) => ({
      type: 'message',
      channel,
      created: Math.floor((message.pinnedAt ?? 0) / 1_000),
      message: asSlackMessage(message, references),
    })),
  }
}

/** The channel and the id of the message in the arguments `channel` and `timestamp`. */
async function findTarget(call: SlackCall) {
  const timestamp = textOf(call.args, 'timestamp', 'no_item_specified')
  if (parseTs(timestamp) === undefined) throw slackRefusal('bad_timestamp')
  const channel = await findChannelId(call)
  const { id } = await findMessageByTs(call, channel, timestamp)
  return { channel, id }
}

/** As `findTarget`, with the whole message. */
async function readTarget(call: SlackCall): Promise<{ channel: string; message: Message }> {
  const { id, channel } = await findTarget(call)
  const errorCodes = { 403: 'message_not_found', 404: 'message_not_found' }
  const { message } = await call.ask({ service: 'messaging', method: 'GET', path: `/messages/${id}` }, errorCodes)
  return { channel, message }
}
