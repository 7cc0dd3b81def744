import type { Message, MessageBlock } from '@parley/contract'
import { slackRefusal } from '@parley/service'
import { isPretext, textOfBlocks } from '@parley/slack'
import { isLeftOut, type KeptContent } from '../slack-objects/slack-content.ts'
import { findSlackMessage } from '../slack-objects/slack-objects.ts'
import { payloadOf, readMessageContent, warningOf } from './message-content.ts'
import type { Arguments, SlackCall } from './slack-call.ts'
import { findChannelId, findMessageByTs } from './targets.ts'

/**
 * `chat.update`. As at Slack, the message keeps its attachments when the argument is left out. It keeps its blocks when neither `text`,
 * `markdown_text` nor `blocks` is given. An empty list removes them.
 */
export async function updateMessage(call: SlackCall) {
  const { deps, ask } = call
  const payload = payloadOf(call)
  if (contentFields.every((name) => isLeftOut(payload[name]))) throw slackRefusal('no_text')
  const channel = await findChannelId(call)
  const { id } = await findMessageByTs(call, channel)
  const path = `/messages/${id}`
  const errorCodes = { 403: 'cant_update_message', 404: 'message_not_found' }
  const before = await ask({ service: 'messaging', method: 'GET', path }, errorCodes)
  const body = await readMessageContent(call, payload, keptOf(payload, before.message))
  const answer = await ask({ service: 'messaging', method: 'PUT', path, body }, errorCodes)
  const message = await findSlackMessage(deps, answer.message)
  return { channel, ts: message.ts, text: message.text, message, ...warningOf(call) }
}

const contentFields = ['text', 'markdown_text', 'blocks', 'attachments'] as const

/** What a message keeps when a change does not give it. */
function keptOf({ text, markdown_text: markdown, blocks }: Arguments, message: Message): KeptContent {
  const attachments = message.blocks.filter(isOfAttachment)
  if (![text, markdown, blocks].every(isLeftOut)) return { attachments }
  const others = message.blocks.filter((block) => !isOfAttachment(block))
  return { attachments, blocks: others, content: textBesideBlocks(message) }
}

const isOfAttachment = (block: MessageBlock) => block.type === 'attachment' || isPretext(block)

/** The text of a message without the words of its blocks, which follow it in `content`. */
function textBesideBlocks({ content, blocks }: Message): string {
  const words = textOfBlocks(blocks)
  if (words === '') return content
  return content.endsWith(`\n${words}`) ? content.slice(0, -words.length - 1) : ''
}
