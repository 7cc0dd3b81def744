import type { RichText, RichTextList, RichTextPart, RichTextSection, RichTextStyle } from '@parley/contract'
import { type ConvertText, continuesName, mayPrecedeMention } from './mrkdwn.ts'
import { isObject, type Json, listOf, safeText, safeUrl } from './untrusted.ts'

const maxParts = 500

/**
 * Reads those elements of a `rich_text` block that Parley can show. `convert` looks up the names of people who are
 * mentioned.
 */
export function readRichText(input: unknown, convert: ConvertText): RichText['elements'] {
  return (listOf(input) ?? []).slice(0, maxParts).flatMap((element): (RichTextSection | RichTextList)[] => {
    if (!isObject(element)) return []
    if (element.type !== 'rich_text_list') return readSection(element, convert)
    const items = (listOf(element.elements) ?? [])
      .slice(0, maxParts)
      .flatMap((item) => (isObject(item) ? readSection(item, convert) : []))
    if (items.length === 0) return []
    const indent = Number.isInteger(element.indent) ? Math.min(Math.max(element.indent as number, 0), 8) : 0
    const style = element.style === 'ordered' ? 'ordered' : 'bullet'
    return [{ type: 'rich_text_list', style, ...(indent > 0 && { indent }), elements: items }]
  })
}

/** The types of the parts that mention somebody. */
const mentions = new Set<unknown>(['user', 'usergroup', 'broadcast'])

function readSection({ type, elements }: Json, convert: ConvertText): RichTextSection[] {
  const kind = type === 'rich_text_preformatted' || type === 'rich_text_quote' ? type : 'rich_text_section'
  const parts: RichTextPart[] = []
  let isAfterMention = false
  for (const part of (listOf(elements) ?? []).slice(0, maxParts).filter(isObject)) {
    const isMention = mentions.has(part.type)
    for (const read of readPart(part, convert)) {
      if ((isMention && !endsBeforeName(parts.at(-1))) || (isAfterMention && !beginsAfterName(read))) {
        parts.push({ type: 'text', text: ' ' })
      }
      parts.push(read)
      isAfterMention = isMention
    }
  }
  return parts.length === 0 ? [] : [{ type: kind, elements: parts }]
}

/** Whether a name after this part is a mention in the markup. Slack needs no space there. */
const endsBeforeName = (part: RichTextPart | undefined) =>
  part === undefined || (part.type === 'text' && mayPrecedeMention.test(part.text.slice(-2)))
/** Whether this part does not become a part of the name before it. */
const beginsAfterName = (part: RichTextPart) => part.type === 'text' && !continuesName.test(part.text)

function readPart(part: Json, convert: ConvertText): RichTextPart[] {
  const style = readStyle(part.style)
  switch (part.type) {
    case 'link': {
      const url = safeUrl(part.url)
      const text = safeText(part.text, 3_000)
      if (url === undefined) return text === '' ? [] : [{ type: 'text', text, ...style }]
      return [{ type: 'link', url, ...(text !== '' && { text }), ...style }]
    }
    case 'emoji':
      return readEmoji(part)
    case 'broadcast':
      return [{ type: 'text', text: part.range === 'here' ? '@here' : '@channel', ...style }]
    case 'date':
      return [{ type: 'text', text: safeText(part.fallback, 200), ...style }]
    default: {
      const reference = readReference(part)
      const text = reference ? nameOf(reference, convert) : safeText(part.text, 3_000)
      return text === '' ? [] : [{ type: 'text', text, ...style }]
    }
  }
}

const emojiName = /^[a-z0-9_+-]{1,64}(::skin-tone-[2-6](?:-[2-6])?)?$/

/** Slack writes the skin tone in the name, as in the markup, or in a field of its own. */
function readEmoji({ name: input, skin_tone: tone }: Json): RichTextPart[] {
  const name = safeText(input, 100)
  const [found, toneInName] = emojiName.exec(name) ?? []
  if (found === undefined) return []
  const hasTone = toneInName === undefined && /^[2-6]$/.test(safeText(tone, 10))
  return [{ type: 'emoji', name: hasTone ? `${name}::skin-tone-${tone}` : name }]
}

/** The parts that refer to a person, a group or a channel by its id: the sign before the name, how mrkdwn begins, and the field of the id. */
const references = new Map<unknown, { sign: '@' | '#'; begin: string; field: string }>([
  ['user', { sign: '@', begin: '<@', field: 'user_id' }],
  ['usergroup', { sign: '@', begin: '<!subteam^', field: 'usergroup_id' }],
  ['channel', { sign: '#', begin: '<#', field: 'channel_id' }],
])

interface Reference {
  sign: '@' | '#'
  id: string
  mrkdwn: string
}

/** What a part of a `rich_text` refers to by an id, also as mrkdwn, such as `<@U1>`. Undefined when it refers to nothing. */
export function readReference(part: Json): Reference | undefined {
  const reference = references.get(part.type)
  if (!reference) return undefined
  const id = safeText(part[reference.field], 64)
  return { sign: reference.sign, id, mrkdwn: `${reference.begin}${id}>` }
}

/** The name after `@` or `#`, or the id when `convert` does not know it. */
function nameOf({ sign, id, mrkdwn }: Reference, convert: ConvertText): string {
  const name = convert(mrkdwn)
  return name.startsWith(sign) ? name : `${sign}${id}`
}

function readStyle(style: unknown): { style?: RichTextStyle } {
  if (!isObject(style)) return {}
  const names = (['bold', 'italic', 'strike', 'code'] as const).filter((name) => style[name] === true)
  return names.length === 0 ? {} : { style: Object.fromEntries(names.map((name) => [name, true as const])) }
}
