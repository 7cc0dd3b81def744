import { linkTextForm } from '@parley/markup'
import { safeUrl } from './untrusted.ts'

/** Looks up the names for the ids in a text. */
export interface MrkdwnNames {
  /** The name of the person with this id. */
  user(id: string): string | undefined
  /** The name of the channel with this id. */
  channel(id: string): string | undefined
  /** The handle of the group with this id. */
  group(id: string): string | undefined
}

/** Converts a text of a program to Parley's markup. Without a format it is mrkdwn. */
export type ConvertText = (text: string, format?: 'mrkdwn' | 'markdown') => string

const nobody: MrkdwnNames = { user: () => undefined, channel: () => undefined, group: () => undefined }

const slackCode = /```[\s\S]*?```|`[^`\n]+`/.source
/** `<…>` without a bracket inside, so that a search ends at the next bracket, and the three entities. */
const special = /<([^<>\n]+)>|&(amp|lt|gt);/g
const codeOrSpecial = new RegExp(`${slackCode}|${special.source}`, 'g')
const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>' }

/** Converts Slack's mrkdwn to Parley's markup, in linear time. Bold, italic, strike and code are the same in both. */
export function toMarkup(mrkdwn: string, names: MrkdwnNames = nobody): string {
  const markup = withMentionsOutside(mrkdwn).replace(codeOrSpecial, (whole: string, inside, entity, at, text) => {
    if (whole[0] === '`') return codeAsMarkup(whole, names)
    if (inside === undefined) return entities[entity]!
    const reference = referenceAsMarkup(inside, names)
    return isMention.test(inside) ? separated(reference, text.slice(0, at), text.slice(at + whole.length)) : reference
  })
  return withCodeOnLines(markup)
}

/** Slack shows links and mentions in code too. The markup has none there, so they become text. */
const codeAsMarkup = (code: string, names: MrkdwnNames): string =>
  code.replace(special, (_whole, inside: string | undefined, entity) =>
    inside === undefined ? entities[entity]! : referenceAsMarkup(inside, names, (label, url) => `${label} (${url})`),
  )

const isMention = /^(?:@|!(?:channel|here|everyone|subteam)\b)/
const mentionForm = /<(?:@|!(?:channel|here|everyone|subteam)\b)[^<>\n]*>/u.source
/** Code, or emphasis that begins with mentions: its markers, the mentions, the markers after them if it ends there, and a space. */
const codeOrEmphasizedMentions = new RegExp(
  String.raw`${slackCode}|(?<![\p{L}\p{N}\\*_~])([*_~]{1,3})(${mentionForm}(?: *${mentionForm})*)(?:([*_~]{1,3})(?![\p{L}\p{N}*_~])|(?! *(?:[*_~\n]|$)))( ?)`,
  'gu',
)

/** Moves mentions out of the emphasis that begins with them. In the markup no marker can stand directly before a name. */
const withMentionsOutside = (mrkdwn: string): string =>
  mrkdwn.replace(codeOrEmphasizedMentions, (whole, opening: string | undefined, mentions, closing = '', space) => {
    if (opening === undefined) return whole
    let closed = 0
    while (closed < closing.length && closing[closed] === opening.at(-1 - closed)) closed++
    const stillOpen = opening.slice(0, opening.length - closed)
    const outside = `${mentions}${closing.slice(closed)}`
    return stillOpen === '' ? `${outside}${space}` : `${outside} ${stillOpen}`
  })

/** The end of a text after which a mention needs no space. */
export const mayPrecedeMention = /(?:^|[\s\p{Ps}])$/u
/** The start of a text that the markup would read as a part of the name before it. */
export const continuesName = /^[\p{L}\p{N}_]/u
const beginsWithLink = /^<(?![@!])/

/** A mention with spaces where the text around it would hide it. Slack needs none. */
function separated(mention: string, before: string, after: string): string {
  const start = mayPrecedeMention.test(before.slice(-2)) ? '' : ' '
  return `${start}${mention}${continuesName.test(after) || beginsWithLink.test(after) ? ' ' : ''}`
}

/** The ids of people in a text, each once. */
export const mentionedIds = (mrkdwn: string): string[] => idsIn(mrkdwn, /<@([\w-]+)(?:\|[^<>\n]*)?>/g)

/** The ids of channels in a text, each once. */
export const namedChannelIds = (mrkdwn: string): string[] => idsIn(mrkdwn, /<#([\w-]+)(?:\|[^<>\n]*)?>/g)

/** The ids of groups in a text, each once. */
export const mentionedGroupIds = (mrkdwn: string): string[] => idsIn(mrkdwn, /<!subteam\^([\w-]+)(?:\|[^<>\n]*)?>/g)

const idsIn = (mrkdwn: string, reference: RegExp) => [...new Set([...mrkdwn.matchAll(reference)].map(([, id]) => id!))]

/** `link` writes a link. */
function referenceAsMarkup(inside: string, names: MrkdwnNames, link = markupLink): string {
  const bar = inside.indexOf('|')
  const target = bar === -1 ? inside : inside.slice(0, bar)
  const label = bar === -1 ? '' : unescaped(inside.slice(bar + 1)).trim()
  if (target[0] === '@') return `@${names.user(target.slice(1)) ?? (label.replace(/^@/, '') || target.slice(1))}`
  if (target[0] === '#') return `#${names.channel(target.slice(1)) ?? (label.replace(/^#/, '') || target.slice(1))}`
  if (target[0] === '!') return commandAsMarkup(target.slice(1), label, names, link)
  const url = safeUrl(unescaped(target))
  if (url === undefined) return label || unescaped(target)
  return label === '' || label === url ? url : link(label, url)
}

/** `!channel`, `!here`, `!everyone`, `!subteam^…`, `!date^<seconds>^<format>^<link>`. The text to show is after the bar. */
function commandAsMarkup(command: string, label: string, names: MrkdwnNames, link: typeof markupLink): string {
  const [name, first, , target] = command.split('^')
  if (name === 'channel' || name === 'everyone') return '@channel'
  if (name === 'here') return '@here'
  if (name === 'subteam') {
    const handle = names.group(first ?? '')
    return handle === undefined ? label || '@subteam' : `@${handle}`
  }
  if (name !== 'date') return label || `@${name}`
  const seconds = Number(first)
  const shown = label || (Number.isFinite(seconds) && Math.abs(seconds) < 8.64e12 ? isoMinutes(seconds) : '')
  const url = safeUrl(target)
  return url === undefined ? shown : link(shown, url)
}

const isoMinutes = (seconds: number) => `${new Date(seconds * 1_000).toISOString().slice(0, 16).replace('T', ' ')} UTC`

/**
 * A link in the markup. Its text keeps pairs of brackets, as in `[FIRING:1]`. Other brackets in its text and parentheses in its
 * address are replaced.
 */
export const markupLink = (label: string, url: string): string => {
  const text = label
    .replaceAll('\n', ' ')
    .replace(pairOrBracket, (part) => (part.length > 1 ? part : part === '[' ? '(' : ')'))
  return text.trim() === '' ? url : `[${text}](${url.replaceAll('(', '%28').replaceAll(')', '%29')})`
}

const pairOrBracket = /\[[^[\]]*\](?!\()|[[\]]/g

const unescaped = (text: string) => text.replace(/&(amp|lt|gt);/g, (_whole, entity: string) => entities[entity]!)

/** Puts code blocks on lines of their own. Slack begins them anywhere, and the markup only at the start of a line. */
function withCodeOnLines(text: string): string {
  const parts = text.split('```')
  if (parts.length < 3) return text
  let result = parts[0]!
  for (let n = 1; n + 1 < parts.length; n += 2) {
    const [code, after] = [parts[n]!, parts[n + 1]!]
    const opening = result === '' || result.endsWith('\n') ? '' : '\n'
    const lines = code.replace(/^\n/, '').replace(/\n$/, '')
    result += `${opening}\`\`\`\n${lines}\n\`\`\`${after === '' || after.startsWith('\n') ? '' : '\n'}${after}`
  }
  // A fence without a closing one is text.
  return parts.length % 2 === 0 ? `${result}\`\`\`${parts.at(-1)}` : result
}

/** Names in lower case, without the `@`, and how Slack writes a mention of them, such as `<@id>`. */
export type SlackMentions = ReadonlyMap<string, string>

/** A block of code ends with the next line that ends with a fence, or with the text. */
const codeBlock = /(?<![^\r\n])```[\s\S]*?(?:```[^\S\r\n]*(?![^\r\n])|$)/.source
/**
 * Code between equal runs of backticks in one paragraph. The limit of the runs lets a search of a text with many
 * different runs end soon.
 */
const codeSpan = /(?<!`)(`{1,8})(?!`)(?:(?!\n\s*\n|\n```)[\s\S])+?(?<!`)\1(?!`)/.source
/** The second part of `[text](address)`. The address may have pairs of parentheses. */
const linkAddress = /\(((?:https?:\/\/|mailto:)(?:[^\s<>"()[\]]|\([^\s<>"()[\]]*\))+)\)/.source
const namedLink = `\\[(${linkTextForm})\\]${linkAddress}`
/** An address, without the punctuation at its end. */
const address = /(?:https?:\/\/|mailto:)[^\s<>"[\]]*[^\s<>"[\].,;:!?'*_~`]/.source
const codeOrLink = new RegExp(`${codeBlock}|${codeSpan}|${namedLink}|${address}`, 'gi')
/** Stands for code or a link while the text around it is converted. Messages never contain it. */
const placeholder = '\0'

/** Converts Parley's markup to mrkdwn, for programs that read messages of people. Code and addresses keep their text. */
export function toMrkdwn(markup: string, mentions: SlackMentions = new Map()): string {
  const kept: string[] = []
  const text = markup
    .replaceAll(placeholder, '')
    .replace(codeOrLink, (whole: string, _backticks, label: string | undefined, url: string) => {
      kept.push(label === undefined ? asEntities(whole) : `<${asEntities(url)}|${toMrkdwn(label)}>`)
      return placeholder
    })
  const mrkdwn = asEntities(text)
    .replace(/\*\*([^*\n]+)\*\*/g, '*$1*')
    .replace(/(?<!~)~~([^~\n]+)~~(?!~)/g, '~$1~')
  let next = 0
  return withMentions(mrkdwn, mentions).replaceAll(placeholder, () => kept[next++]!)
}

/**
 * Converts Markdown with Slack's references, such as `<@id>`, to Parley's markup, in linear time. Headings become bold lines. Code and links
 * are the same in both.
 */
export function markdownToMarkup(markdown: string, names: MrkdwnNames = nobody): string {
  const kept: string[] = []
  const text = markdown
    .replaceAll(placeholder, '')
    .replace(codeOrLink, (whole: string) => {
      kept.push(whole)
      return placeholder
    })
    .replace(
      /^ {0,3}#{1,6}[ \t]+(\S.*)$/gm,
      (_whole, heading: string) => `**${heading.replaceAll('**', '').trimEnd()}**`,
    )
    .replace(/(?<![*\w])\*(?![\s*])([^*\n]+)(?<!\s)\*(?![*\w])/g, '_$1_')
    .replace(/(?<![_\w])__(?![\s_])([^_\n]+)(?<!\s)__(?![_\w])/g, '**$1**')
  let next = 0
  return toMarkup(text, names).replaceAll(placeholder, () => kept[next++]!)
}

const asEntities = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

function withMentions(mrkdwn: string, mentions: SlackMentions): string {
  if (mentions.size === 0) return mrkdwn
  const names = [...mentions.keys()].sort((one, other) => other.length - one.length).map(escaped)
  const mention = new RegExp(`(?<=^|[\\s\\p{Ps}])@(${names.join('|')})(?![._-]*[\\p{L}\\p{N}])`, 'giu')
  return mrkdwn.replace(mention, (whole, name: string) => mentions.get(name.toLowerCase()) ?? whole)
}

const escaped = (name: string) => name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
