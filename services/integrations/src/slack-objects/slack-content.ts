import { firstCharacters, isBlank, limits, type MessageBlock } from '@parley/contract'
import {
  type ConvertText,
  type MrkdwnNames,
  markdownToMarkup,
  readAttachments,
  readBlocks,
  readReference,
  safeText,
  sectionsOf,
  toMarkup,
} from '@parley/slack'

/** The content of a message that a program sent in Slack's format, in the form that messaging takes. */
export interface SlackContent {
  content: string
  blocks?: MessageBlock[]
}

/** What a message keeps when it is changed by a payload without these fields. */
export interface KeptContent {
  content?: string
  blocks?: readonly MessageBlock[]
  attachments?: readonly MessageBlock[]
}

type Payload = Record<string, unknown>

/**
 * Translates `text`, `blocks` and `attachments`. As at Slack, the text is shown only when there are no blocks. Undefined when there is
 * no content at all.
 * @throws InvalidBlocks when blocks or attachments cannot be read.
 */
export function readContent(payload: Payload, names: MrkdwnNames, kept: KeptContent = {}): SlackContent | undefined {
  const convert: ConvertText = (text, format) =>
    format === 'markdown' ? markdownToMarkup(text, names) : toMarkup(text, names)
  // A form has the value as text.
  const isPlain = payload.mrkdwn === false || payload.mrkdwn === 'false'
  const given = safeText(payload.text, limits.content)
  const written = firstCharacters(isPlain ? given : convert(given), limits.content)
  const content = isLeftOut(payload.text) ? (kept.content ?? '') : written
  const blocks = isLeftOut(payload.blocks) ? (kept.blocks ?? []) : readBlocks(payload.blocks, convert)
  const attachments = isLeftOut(payload.attachments)
    ? (kept.attachments ?? [])
    : readAttachments(payload.attachments, convert)
  if (blocks.length + attachments.length === 0) return isBlank(content) ? undefined : { content }
  const text = blocks.length === 0 && !isBlank(content) ? sectionsOf(content) : []
  return { content, blocks: readBlocks([...text, ...blocks, ...attachments]) }
}

export const isLeftOut = (value: unknown): value is undefined | null => value === undefined || value === null

/** `textsOf` reads at most this many values. A payload with more values is never accepted. */
const maxValues = 50_000
const longestTexts = 100_000

/**
 * The texts of a payload, which may mention people by their ids. A payload may have any size and depth. Texts beyond
 * the limits above are left out, so that this takes little time.
 */
export function textsOf({ text, markdown_text: markdown, blocks, attachments }: Payload): string {
  const texts: string[] = []
  let length = 0
  const waiting: unknown[] = [attachments, blocks, markdown, text]
  for (let values = 0; values < maxValues && waiting.length > 0 && length < longestTexts; values++) {
    const next = waiting.pop()
    if (typeof next === 'string') {
      texts.push(next)
      length += next.length
    } else if (typeof next === 'object' && next !== null) {
      const reference = readReference(next as Payload)
      if (reference) texts.push(reference.mrkdwn)
      for (const inner of Object.values(next)) waiting.push(inner)
    }
  }
  return texts.join('\n').slice(0, longestTexts)
}
