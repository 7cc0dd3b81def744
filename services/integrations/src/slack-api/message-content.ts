import { lengthOf, limits } from '@parley/contract'
import { slackRefusal } from '@parley/service'
import {
  InvalidBlocks,
  longestMarkdown,
  type MrkdwnNames,
  markdownToMarkup,
  mentionedIds,
  safeText,
} from '@parley/slack'
import { isLeftOut, type KeptContent, readContent, textsOf } from '../slack-objects/slack-content.ts'
import { findNamesIn, findUserNames } from '../slack-objects/slack-references.queries.ts'
import { type Arguments, jsonOf, type SlackCall, textOf } from './slack-call.ts'
import { findUsers } from './users.ts'

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

/**
 * The content in `text` or `markdown_text`, `blocks` and `attachments` of the arguments, and what the message keeps. @throws ProtocolRefusal when there
 * is none.
 */
export async function readMessageContent(call: SlackCall, payload = payloadOf(call), kept: KeptContent = {}) {
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
    if (error instanceof InvalidBlocks) throw slackRefusal('invalid_blocks', error.message)
    throw error
  }
}

/** The warning, in the form of Slack, that the text was cut because a message cannot be so long. */
export const warningOf = ({ args }: SlackCall) =>
  lengthOf(textOf(args, 'text')) > limits.content && {
    warning: 'message_truncated',
    response_metadata: { warnings: ['message_truncated'] },
  }

/** The names to which a text refers. A guest gets only the names of people whom they can see, and none of channels and groups. */
async function findVisibleNamesIn(call: SlackCall, mrkdwn: string): Promise<MrkdwnNames> {
  if (call.caller.role !== 'guest') return findNamesIn(call.deps.db, mrkdwn)
  const users = await findVisibleNames(call, mentionedIds(mrkdwn))
  return { user: (id) => users.get(id), channel: () => undefined, group: () => undefined }
}

/** Names of the people with these ids. A guest gets only the names of people whom they can see. */
export async function findVisibleNames(call: SlackCall, ids: readonly string[]): Promise<Map<string, string>> {
  const { deps, caller } = call
  const names = await findUserNames(deps.db, ids)
  if (caller.role !== 'guest' || names.size === 0) return names
  const users = await findUsers(call, [...names.keys()])
  return new Map([...users.values()].map(({ id, userName }) => [id, userName]))
}
