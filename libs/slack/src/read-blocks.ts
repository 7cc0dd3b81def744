import {
  type BlockButton,
  type BlockConfirm,
  type BlockImage,
  type BlockText,
  blockLimits,
  type MessageBlock,
  type PlainBlock,
  type RichText,
} from '@parley/contract'
import { type ConvertText, markdownToMarkup } from './mrkdwn.ts'
import { readRichText } from './rich-text.ts'
import { splitMarkup } from './split-markup.ts'
import { isObject, type Json, listOf, safeText, safeUrl } from './untrusted.ts'

/** The blocks cannot be read. The sentence is for the author of the program. */
export class InvalidBlocks extends Error {
  override readonly name = 'InvalidBlocks'
}

/** The texts of type `mrkdwn` are in Parley's markup already. */
const keepMarkup: ConvertText = (text, format) => (format === 'markdown' ? markdownToMarkup(text) : text)

/**
 * Reads the blocks of a program, and keeps only the parts that may be stored. Unknown fields are dropped, long texts
 * are cut, and unknown blocks are reduced to their texts. @throws InvalidBlocks when they are not a list, or there are
 * too many.
 */
export function readBlocks(input: unknown, convert: ConvertText = keepMarkup): MessageBlock[] {
  const items = listOf(input)
  if (!items) throw new InvalidBlocks('blocks must be a list of blocks')
  const attachments = items.filter((item) => isObject(item) && item.type === 'attachment')
  if (attachments.length > blockLimits.attachments)
    throw new InvalidBlocks(`There may be at most ${blockLimits.attachments} attachments`)
  if (items.length - attachments.length > blockLimits.blocks)
    throw new InvalidBlocks(`There may be at most ${blockLimits.blocks} blocks`)
  const blocks = items.flatMap((item): MessageBlock[] => {
    if (!isObject(item)) return []
    if (item.type !== 'attachment') return readBlock(item, convert)
    const inner = readPlainBlocks(item.blocks, convert)
    return inner.length === 0 ? [] : [{ type: 'attachment', color: readColor(item.color), blocks: inner }]
  })
  requireBounded(blocks)
  return blocks
}

/** @throws InvalidBlocks when the blocks are too large to be stored. */
function requireBounded(blocks: readonly MessageBlock[]): void {
  if (Buffer.byteLength(JSON.stringify(blocks)) > blockLimits.bytes)
    throw new InvalidBlocks(`The blocks may have at most ${blockLimits.bytes} bytes of JSON`)
}

/** Reads the blocks inside an attachment. @throws InvalidBlocks when there are too many. */
export function readPlainBlocks(input: unknown, convert: ConvertText): PlainBlock[] {
  const items = listOf(input) ?? []
  if (items.length > blockLimits.blocks) throw new InvalidBlocks(`There may be at most ${blockLimits.blocks} blocks`)
  return items.flatMap((item) => (isObject(item) ? readBlock(item, convert) : []))
}

/** Number of characters of the text of a section. */
const longestSection = 3_000
/** Slack's limit for a text in Markdown. */
export const longestMarkdown = 12_000

/** Reads one block. Returns an empty list when it shows nothing. */
function readBlock(block: Json, convert: ConvertText): PlainBlock[] {
  const text = (value: unknown, most: number) => readText(value, most, convert)
  const id = typeof block.block_id === 'string' ? { block_id: safeText(block.block_id, 255) } : {}
  switch (block.type) {
    case 'header': {
      const found = text(block.text, 150)
      return found ? [{ type: 'header', text: asPlain(found) }] : []
    }
    case 'section': {
      const found = text(block.text, longestSection)
      const fields = (listOf(block.fields) ?? []).slice(0, 10).flatMap((field) => text(field, 2_000) ?? [])
      const accessory = readAccessory(block.accessory, convert)
      if (!found && fields.length === 0 && !accessory) return []
      return [
        {
          type: 'section',
          ...(found && { text: found }),
          ...(fields.length > 0 && { fields }),
          ...(accessory && { accessory }),
          ...id,
        },
      ]
    }
    case 'context': {
      const elements = (listOf(block.elements) ?? [])
        .slice(0, 10)
        .flatMap((element): (BlockText | BlockImage)[] =>
          isObject(element) && element.type === 'image'
            ? (readImage(element, convert) ?? [])
            : [text(element, 2_000) ?? []].flat(),
        )
      return elements.length === 0 ? [] : [{ type: 'context', elements }]
    }
    case 'divider':
      return [{ type: 'divider' }]
    case 'image':
      return readImage(block, convert) ?? []
    case 'actions': {
      const elements = (listOf(block.elements) ?? [])
        .slice(0, 25)
        .flatMap((element, n) => readButton(element, convert, n) ?? [])
      return elements.length === 0 ? wordsOf(block) : [{ type: 'actions', elements, ...id }]
    }
    case 'rich_text': {
      const elements = readRichText(block.elements, convert)
      return elements.length === 0 ? [] : [{ type: 'rich_text', elements }]
    }
    case 'markdown':
      return sectionsOf(convert(safeText(block.text, longestMarkdown), 'markdown'))
    case 'table': {
      const rows = (listOf(block.rows) ?? []).slice(0, 100).flatMap((row) => {
        const cells = (listOf(row) ?? []).slice(0, 20).map((cell) => readCell(cell, convert))
        return cells.length === 0 ? [] : [cells]
      })
      return rows.length === 0 ? [] : [{ type: 'table', rows }]
    }
    default:
      return wordsOf(block)
  }
}

/** A text in Parley's markup, in as many sections as it needs. */
export const sectionsOf = (markup: string): PlainBlock[] =>
  splitMarkup(markup, longestSection).map((text) => ({ type: 'section', text: { type: 'mrkdwn', text } }))

/** Reads a text object, or a plain string as older programs send it. */
export function readText(value: unknown, most: number, convert: ConvertText): BlockText | undefined {
  const isPlain = isObject(value) && value.type === 'plain_text'
  const text = safeText(isObject(value) ? value.text : value, most)
  if (text.trim() === '') return undefined
  return isPlain ? { type: 'plain_text', text } : { type: 'mrkdwn', text: safeText(convert(text), 2 * most) }
}

/** Reads one image. The result is a list, so that callers can spread it. Undefined when the address cannot be opened. */
export function readImage(image: Json, convert: ConvertText): [BlockImage] | undefined {
  const url = safeUrl(image.image_url)
  if (url === undefined || !/^https?:/i.test(url)) return undefined
  const title = readText(image.title, 2_000, convert)
  return [{ type: 'image', image_url: url, alt_text: safeText(image.alt_text, 2_000), ...(title && { title }) }]
}

const readAccessory = (value: unknown, convert: ConvertText): BlockButton | BlockImage | undefined =>
  isObject(value) && value.type === 'image' ? readImage(value, convert)?.[0] : readButton(value, convert, 0)

function readButton(value: unknown, convert: ConvertText, n: number): BlockButton | undefined {
  if (!isObject(value) || value.type !== 'button') return undefined
  const text = readText(value.text, 75, convert)
  if (!text) return undefined
  const url = safeUrl(value.url)
  const confirm = readConfirm(value.confirm, convert)
  return {
    type: 'button',
    action_id: safeText(value.action_id, 255) || `action-${n}`,
    text: asPlain(text),
    ...(url !== undefined && { url }),
    ...(typeof value.value === 'string' && { value: safeText(value.value, 2_000) }),
    ...readStyle(value.style),
    ...(confirm && { confirm }),
  }
}

function readConfirm(value: unknown, convert: ConvertText): BlockConfirm | undefined {
  if (!isObject(value)) return undefined
  const text = readText(value.text, 300, convert)
  if (!text) return undefined
  const [title, confirm, deny] = [
    readText(value.title, 100, convert),
    readText(value.confirm, 30, convert),
    readText(value.deny, 30, convert),
  ]
  return {
    ...(title && { title: asPlain(title) }),
    text,
    ...(confirm && { confirm: asPlain(confirm) }),
    ...(deny && { deny: asPlain(deny) }),
    ...readStyle(value.style),
  }
}

const asPlain = ({ text }: BlockText): BlockText => ({ type: 'plain_text', text })

const readStyle = (style: unknown): Pick<BlockButton, 'style'> =>
  style === 'primary' || style === 'danger' ? { style } : {}

function readCell(cell: unknown, convert: ConvertText): BlockText | RichText {
  if (isObject(cell) && cell.type === 'rich_text') {
    return { type: 'rich_text', elements: readRichText(cell.elements, convert) }
  }
  const plain = isObject(cell) && cell.type === 'raw_text' ? { type: 'plain_text', text: cell.text } : cell
  return readText(plain, 1_000, convert) ?? { type: 'plain_text', text: '' }
}

const readColor = (color: unknown): string | null =>
  typeof color === 'string' && /^#[0-9a-f]{6}$/i.test(color) ? color.toLowerCase() : null

const maxLooked = 500

/** The texts of a block that Parley cannot show, at any depth. */
function wordsOf(block: Json): PlainBlock[] {
  const words: string[] = []
  const waiting: unknown[] = [block]
  for (let looked = 0; waiting.length > 0 && looked < maxLooked; looked++) {
    const next = waiting.shift()
    if (Array.isArray(next)) waiting.push(...next.slice(0, maxLooked))
    else if (isObject(next)) {
      if (typeof next.text === 'string') words.push(next.text)
      waiting.push(
        ...Object.values(next)
          .filter((value) => typeof value === 'object')
          .slice(0, maxLooked),
      )
    }
  }
  const text = safeText(words.join('\n'), longestSection)
  return text.trim() === '' ? [] : [{ type: 'section', text: { type: 'plain_text', text } }]
}
