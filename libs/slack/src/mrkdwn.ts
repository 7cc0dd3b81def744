import { safeUrl } from './untrusted.ts'

/** Looks up the names for the ids in a text. */
export interface MrkdwnNames {
  /** The name of the person with this id. */
  user(id: string): string | undefined
}

/** Converts a text of type `mrkdwn`. */
export type ReadMrkdwn = (text: string) => string

const nobody: MrkdwnNames = { user: () => undefined }

/** `<…>` without a bracket inside, so that a search ends at the next bracket, and the three entities. */
const special = /<([^<>\n]+)>|&(amp|lt|gt);/g
const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>' }

/** Converts Slack's mrkdwn to Parley's markup, in linear time. Bold, italic, strike and code are the same in both. */
export function toMarkup(mrkdwn: string, names: MrkdwnNames = nobody): string {
  const markup = withMentionsOutside(mrkdwn).replace(special, (whole, inside: string | undefined, entity, at, text) => {
    if (inside === undefined) return entities[entity]!
    const reference = referenceAsMarkup(inside, names)
    return isMention.test(inside) ? separated(reference, text.slice(0, at), text.slice(at + whole.length)) : reference
  })
  return withCodeOnLines(markup)
}

const isMention = /^(?:@|!(?:channel|here|everyone|subteam)\b)/
/** Emphasis that begins with mentions: its markers, the mentions, the markers after them if it ends there, and a space. */
const mentionForm = /<(?:@|!(?:channel|here|everyone|subteam)\b)[^<>\n]*>/u.source
const emphasizedMentions = new RegExp(
  String.raw`(?<![\p{L}\p{N}\\*_~])([*_~]{1,3})(${mentionForm}(?: *${mentionForm})*)(?:([*_~]{1,3})(?![\p{L}\p{N}*_~])|(?! *(?:[*_~\n]|$)))( ?)`,
  'gu',
)

/** Moves mentions out of the emphasis that begins with them. In the markup no marker can stand directly before a name. */
const withMentionsOutside = (mrkdwn: string): string =>
  mrkdwn.replace(emphasizedMentions, (_whole, opening: string, mentions: string, closing = '', space: string) => {
    let closed = 0
    while (closed < closing.length && closing[closed] === opening.at(-1 - closed)) closed++
    const stillOpen = opening.slice(0, opening.length - closed)
    const outside = `${mentions}${closing.slice(closed)}`
    return stillOpen === '' ? `${outside}${space}` : `${outside} ${stillOpen}`
  })

/** The end of a text after which a mention needs no space. After a backtick it is code. */
export const mayPrecedeMention = /(?:^|[\s\p{Ps}`])$/u
/** The start of a text that the markup would read as a part of the name before it. */
export const continuesName = /^[\p{L}\p{N}_]/u
const beginsWithLink = /^<(?![@!])/

/** A mention with spaces where the text around it would hide it. Slack needs none. */
function separated(mention: string, before: string, after: string): string {
  const start = mayPrecedeMention.test(before.slice(-2)) ? '' : ' '
  return `${start}${mention}${continuesName.test(after) || beginsWithLink.test(after) ? ' ' : ''}`
}

/** The ids of people in a text, each once. */
export function mentionedIds(mrkdwn: string): string[] {
  return [...new Set([...mrkdwn.matchAll(/<@([\w-]+)(?:\|[^<>\n]*)?>/g)].map(([, id]) => id!))]
}

function referenceAsMarkup(inside: string, names: MrkdwnNames): string {
  const bar = inside.indexOf('|')
  const target = bar === -1 ? inside : inside.slice(0, bar)
  const label = bar === -1 ? '' : unescaped(inside.slice(bar + 1)).trim()
  if (target[0] === '@') return `@${names.user(target.slice(1)) ?? (label.replace(/^@/, '') || target.slice(1))}`
  if (target[0] === '#') return `#${label.replace(/^#/, '') || target.slice(1)}`
  if (target[0] === '!') return commandAsMarkup(target.slice(1), label)
  const url = safeUrl(unescaped(target))
  if (url === undefined) return label || unescaped(target)
  return label === '' || label === url ? url : markupLink(label, url)
}

/** `!channel`, `!here`, `!everyone`, `!subteam^…`, `!date^<seconds>^<format>^<link>`. The text to show is after the bar. */
function commandAsMarkup(command: string, label: string): string {
  const [name, first, , link] = command.split('^')
  if (name === 'channel' || name === 'everyone') return '@channel'
  if (name === 'here') return '@here'
  if (name !== 'date') return label || `@${name}`
  const seconds = Number(first)
  const shown = label || (Number.isFinite(seconds) && Math.abs(seconds) < 8.64e12 ? isoMinutes(seconds) : '')
  const url = safeUrl(link)
  return url === undefined ? shown : markupLink(shown, url)
}

const isoMinutes = (seconds: number) => `${new Date(seconds * 1_000).toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** A link in the markup. Brackets in its text and parentheses in its address are replaced. */
export const markupLink = (label: string, url: string): string => {
  const text = label.replaceAll('[', '(').replaceAll(']', ')').replaceAll('\n', ' ')
  return text.trim() === '' ? url : `[${text}](${url.replaceAll('(', '%28').replaceAll(')', '%29')})`
}

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

/** Converts Parley's markup to mrkdwn, for programs that read messages of people. Links keep their text. */
export function toMrkdwn(markup: string, mentions: SlackMentions = new Map()): string {
  const safe = markup.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const mrkdwn = safe
    .replace(/\[([^[\]\n]+)\]\(((?:https?:\/\/|mailto:)[^\s()[\]]+)\)/g, '<$2|$1>')
    .replace(/\*\*([^*\n]+)\*\*/g, '*$1*')
    .replace(/(?<!~)~~([^~\n]+)~~(?!~)/g, '~$1~')
  return withMentions(mrkdwn, mentions)
}

function withMentions(mrkdwn: string, mentions: SlackMentions): string {
  if (mentions.size === 0) return mrkdwn
  const names = [...mentions.keys()].sort((one, other) => other.length - one.length).map(escaped)
  const mention = new RegExp(`(?<=^|[\\s\\p{Ps}])@(${names.join('|')})(?![._-]*[\\p{L}\\p{N}])`, 'giu')
  return mrkdwn.replace(mention, (whole, name: string) => mentions.get(name.toLowerCase()) ?? whole)
}

const escaped = (name: string) => name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
