import { type AttachmentBlock, type BlockText, blockLimits, type MessageBlock, type PlainBlock } from '@parley/contract'
import type { ConvertText } from './mrkdwn.ts'
import { markupLink } from './mrkdwn.ts'
import { InvalidBlocks, readImage, readPlainBlocks, readText } from './read-blocks.ts'
import { isObject, type Json, listOf, safeText, safeUrl } from './untrusted.ts'

const namedColors: Record<string, string> = { good: '#2eb67d', warning: '#ecb22e', danger: '#e01e5a' }

/** The `block_id` of a pretext. It tells which attachments a message has, because a pretext is outside of them. */
const pretextId = 'attachment-pretext'

/** Whether the block is the `pretext` of an attachment. */
export const isPretext = (block: MessageBlock): boolean => block.type === 'section' && block.block_id === pretextId

/**
 * Reads Slack's older attachments and converts them to blocks. The `pretext` is above them, outside the coloured bar.
 * @throws InvalidBlocks when they are not a list, or there are too many.
 */
export function readAttachments(input: unknown, convert: ConvertText): (PlainBlock | AttachmentBlock)[] {
  const items = listOf(input)
  if (!items) throw new InvalidBlocks('attachments must be a list of attachments')
  if (items.length > blockLimits.attachments)
    throw new InvalidBlocks(`There may be at most ${blockLimits.attachments} attachments`)
  return items.flatMap((item) => {
    if (!isObject(item)) return []
    const pretext = readText(item.pretext, 3_000, convert)
    const before = pretext ? [{ type: 'section' as const, block_id: pretextId, text: pretext }] : []
    const blocks = [...partsOf(item, convert), ...readPlainBlocks(item.blocks ?? [], convert)]
    if (blocks.length === 0 && before.length === 0) blocks.push(...sectionOf(readText(item.fallback, 3_000, convert)))
    return blocks.length === 0 ? before : [...before, { type: 'attachment' as const, color: colorOf(item), blocks }]
  })
}

function partsOf(item: Json, convert: ConvertText): PlainBlock[] {
  const title = linked(item.title, item.title_link, convert)
  const fields = (listOf(item.fields) ?? []).slice(0, 50).flatMap((field) => readField(field, convert))
  const thumb = readImage({ image_url: item.thumb_url, alt_text: '' }, convert)?.[0]
  const text = readText(item.text, 7_000, convert)
  const buttons = (listOf(item.actions) ?? []).flatMap((action) =>
    isObject(action) ? [{ ...action, action_id: action.name, text: { type: 'plain_text', text: action.text } }] : [],
  )
  return [
    ...contextOf([linked(item.author_name, item.author_link, convert)]),
    ...sectionOf(title && { type: 'mrkdwn' as const, text: `*${title.text}*` }),
    ...(text || thumb ? [{ type: 'section' as const, ...(text && { text }), ...(thumb && { accessory: thumb }) }] : []),
    ...chunksOf(fields, 10).map((chunk) => ({ type: 'section' as const, fields: chunk })),
    ...(readImage({ image_url: item.image_url, alt_text: item.fallback ?? '' }, convert) ?? []),
    ...readPlainBlocks(buttons.length > 0 ? [{ type: 'actions', elements: buttons }] : [], convert),
    ...contextOf([readText(item.footer, 300, convert), timeOf(item.ts)]),
  ]
}

function readField(field: unknown, convert: ConvertText): BlockText[] {
  if (!isObject(field)) return []
  const title = safeText(field.title, 200).trim()
  const value = readText(field.value, 2_000, convert)?.text ?? ''
  const text = title === '' ? value : `*${title}*\n${value}`
  return text.trim() === '' ? [] : [{ type: 'mrkdwn', text }]
}

function linked(text: unknown, link: unknown, convert: ConvertText): BlockText | undefined {
  const found = readText(text, 500, convert)
  const url = safeUrl(link)
  return found && url !== undefined ? { type: 'mrkdwn', text: markupLink(found.text, url) } : found
}

function timeOf(ts: unknown): BlockText | undefined {
  const seconds = Number(safeText(ts, 100))
  if (!(seconds > 0 && seconds < 8.64e12)) return undefined
  return { type: 'plain_text', text: `${new Date(seconds * 1_000).toISOString().slice(0, 16).replace('T', ' ')} UTC` }
}

const sectionOf = (text: BlockText | undefined): PlainBlock[] => (text ? [{ type: 'section', text }] : [])

function contextOf(texts: (BlockText | undefined)[]): PlainBlock[] {
  const elements = texts.filter((text) => text !== undefined)
  return elements.length === 0 ? [] : [{ type: 'context', elements }]
}

function colorOf({ color }: Json): string | null {
  if (typeof color !== 'string') return null
  const hex = namedColors[color] ?? (color.startsWith('#') ? color : `#${color}`).toLowerCase()
  // GitLab writes three digits, as in CSS.
  const full = /^#[0-9a-f]{3}$/.test(hex) ? hex.replace(/[0-9a-f]/g, '$&$&') : hex
  return /^#[0-9a-f]{6}$/.test(full) ? full : null
}

const chunksOf = <Item>(items: Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size))
