import { deepestLevel, type Inline, type MarkupOptions } from './document.ts'
import { linkAt, type NamedLink, nameAt, urlAt } from './references.ts'

/** The context of a part. */
interface Surroundings extends MarkupOptions {
  /** The number of quotes, lists and links around it. */
  level: number
  /** Whether it is the text of a link, which has no further links, mentions or channels. */
  isInLink: boolean
}

/** A complete part, a link whose text is not read yet, or a marker of emphasis. A marker that has no matching one is text. */
type Token = Inline | NamedLink | Marker
interface Marker {
  kind: 'marker'
  text: string
  /** Set on both markers of a pair. */
  role: 'opens' | 'closes' | null
}

export type TextOrLink = Extract<Inline, { kind: 'text' | 'link' }>

interface FoundPart {
  part: Inline | NamedLink
  /** Index after it. */
  end: number
}

/** Reads the text of a paragraph. `level` is the number of quotes and lists around it. */
export function parseInlines(text: string, level: number, options: MarkupOptions): Inline[] {
  return readInlines(createScanner(text), 0, text.length, { ...options, level, isInLink: false })
}

/** Reads the text between two indexes, from left to right, and never goes back. */
function readInlines(scanner: Scanner, start: number, end: number, surroundings: Surroundings): Inline[] {
  const { text } = scanner
  const tokens: Token[] = []
  const openMarkers = createOpenMarkers()
  let textStart = start
  let at = start
  const add = (token: Token, next: number) => {
    if (at > textStart) tokens.push({ kind: 'text', text: text.slice(textStart, at) })
    tokens.push(token)
    at = next
    textStart = next
  }

  while (at < end) {
    mayBegin.lastIndex = at
    at = Math.min(mayBegin.exec(text)?.index ?? end, end)
    if (at === end) break
    const found = partAt(scanner, at, end, surroundings)
    if (found) {
      add(found.part, found.end)
      continue
    }
    const length = markerLength(text, at)
    if (length === 0) {
      at++
      continue
    }
    const next = at + length
    const marker: Marker = { kind: 'marker', text: text.slice(at, next), role: null }
    const mayClose = at > start && !isSpace(text, at - 1) && isBoundary(text, next, 'after')
    const mayOpen = next < end && !isSpace(text, next) && isBoundary(text, at, 'before')
    if (mayClose && openMarkers.close(marker)) add(marker, next)
    else if (mayOpen) {
      openMarkers.push(marker)
      add(marker, next)
    } else at = next
  }
  if (at > textStart) tokens.push({ kind: 'text', text: text.slice(textStart, at) })
  return nest(tokens, scanner, surroundings)
}

/** The places where something other than plain text may begin. All other characters are skipped. */
const mayBegin = /[\n`:@\uff20\ufe6b#*_~]|\[(?!\])|h(?=ttp)|m(?=ailto:)/gi

/** The length of the marker of emphasis at the index: `*`, `**`, `***`, `_`, `~` or `~~`. 0 when there is none. */
function markerLength(text: string, at: number): number {
  const character = text[at]!
  const longest = longestMarker[character]
  if (longest === undefined || text[at - 1] === character) return 0
  let end = at + 1
  while (text[end] === character && end - at <= longest) end++
  return end - at > longest ? 0 : end - at
}

const longestMarker: Record<string, number> = { '*': 3, _: 1, '~': 2 }

/** Markers that have no matching marker yet. Each is added and removed once, so all calls together take linear time. */
function createOpenMarkers() {
  const open: Marker[] = []
  const counts = new Map<string, number>()
  const count = ({ text }: Marker, change: number) => counts.set(text, (counts.get(text) ?? 0) + change)

  return {
    push(marker: Marker): void {
      open.push(marker)
      count(marker, 1)
    },

    /** Pairs the marker with the nearest equal one, and drops those in between, because pairs must not cross. */
    close(marker: Marker): boolean {
      if (!counts.get(marker.text)) return false
      for (;;) {
        const opening = open.pop()!
        count(opening, -1)
        if (opening.text !== marker.text) continue
        opening.role = 'opens'
        marker.role = 'closes'
        return true
      }
    },
  }
}

/** Builds a tree from the pairs and reads the texts of links. Markup that is nested too deeply stays text. */
function nest(tokens: Token[], scanner: Scanner, surroundings: Surroundings): Inline[] {
  const lists: Inline[][] = [[]]
  let pairsTooDeep = 0
  for (const token of tokens) {
    const current = lists.at(-1)!
    const level = surroundings.level + lists.length
    if (token.kind === 'named-link') {
      appendPart(current, level <= deepestLevel ? readLink(token, scanner, { ...surroundings, level }) : token.source)
    } else if (token.kind === 'link' && level > deepestLevel) {
      appendPart(current, token.children[0]!)
    } else if (token.kind !== 'marker') {
      appendPart(current, token)
    } else if (token.role === 'opens' && level <= deepestLevel) {
      lists.push([])
    } else if (token.role === 'closes' && pairsTooDeep === 0) {
      lists.pop()
      lists.at(-1)!.push({ kind: emphasis[token.text[0]!]!, children: current })
    } else {
      if (token.role === 'opens') pairsTooDeep++
      if (token.role === 'closes') pairsTooDeep--
      appendPart(current, { kind: 'text', text: token.text })
    }
  }
  return lists[0]!
}

function readLink({ url, textStart, textEnd }: NamedLink, scanner: Scanner, surroundings: Surroundings): Inline {
  return { kind: 'link', url, children: readInlines(scanner, textStart, textEnd, { ...surroundings, isInLink: true }) }
}

const emphasis: Record<string, 'bold' | 'italic' | 'strike'> = { '*': 'bold', _: 'italic', '~': 'strike' }

/** Joins neighbouring texts. */
function appendPart(parts: Inline[], part: Inline): void {
  const last = parts.at(-1)
  if (part.kind === 'text' && last?.kind === 'text') last.text += part.text
  else parts.push(part)
}

/** The part that begins at the index, unless it is emphasis. Null when the character is a marker or plain text. */
function partAt(scanner: Scanner, at: number, end: number, surroundings: Surroundings): FoundPart | null {
  const { text } = scanner
  switch (text[at]) {
    case '\n':
      return { part: { kind: 'break' }, end: at + 1 }
    case '`':
      return codeAt(scanner, at, end)
    case ':':
      return emojiAt(text, at, end)
  }
  if (surroundings.isInLink) return null
  switch (text[at]) {
    case '[': {
      const link = linkAt(text, at)
      return link && { part: link, end: link.end }
    }
    case 'h':
    case 'H':
    case 'm':
    case 'M':
      return bareUrlAt(text, at)
    case '@':
    case '\uff20':
    case '\ufe6b':
      return foundName('mention', nameAt(text, at, surroundings.chooseMention), at)
    case '#':
      return foundName('channel', nameAt(text, at, surroundings.chooseChannel), at)
    default:
      return null
  }
}

/** Code between two runs of backticks of the same length. */
function codeAt(scanner: Scanner, at: number, end: number): FoundPart | null {
  const run = scanner.runOfBackticks(at)
  if (!run || run.closing === null || run.closing + run.length > end) return null
  const text = scanner.text.slice(at + run.length, run.closing)
  return { part: { kind: 'code', text }, end: run.closing + run.length }
}

function emojiAt(text: string, at: number, end: number): FoundPart | null {
  if (!isBoundary(text, at, 'before')) return null
  emoji.lastIndex = at
  const name = emoji.exec(text)?.[1]
  if (name === undefined || at + name.length + 2 > end) return null
  return { part: { kind: 'emoji', name }, end: at + name.length + 2 }
}

/** The form of an emoji in a text, as a regular expression: its short name between colons, such as `:wave:` or `:wave::skin-tone-3:`. */
export const emojiForm = ':([a-z0-9_+-]{1,64}(?:::skin-tone-\\d(?:-\\d)?)?):'
const emoji = new RegExp(emojiForm, 'y')

/** An address that cannot be opened stays text, but is read as a whole. Its parts are not read again. */
export function bareUrlAt(text: string, at: number): { part: TextOrLink; end: number } | null {
  const found = isBoundary(text, at, 'before') ? urlAt(text, at) : null
  if (!found) return null
  const label: TextOrLink = { kind: 'text', text: text.slice(at, found.end) }
  return { part: found.url === null ? label : { kind: 'link', url: found.url, children: [label] }, end: found.end }
}

const foundName = (kind: 'mention' | 'channel', name: string | null, at: number): FoundPart | null =>
  name === null ? null : { part: { kind, name }, end: at + 1 + name.length }

/** A text, with its runs of backticks, which are found only once. */
interface Scanner {
  text: string
  /** The run of backticks that begins at the index. `closing` is the index of the next run of the same length. */
  runOfBackticks: (at: number) => BacktickRun | undefined
}

interface BacktickRun {
  length: number
  closing: number | null
}

function createScanner(text: string): Scanner {
  let runs: Map<number, BacktickRun> | undefined
  return {
    text,
    runOfBackticks(at) {
      runs ??= findRunsOfBackticks(text)
      return runs.get(at)
    },
  }
}

function findRunsOfBackticks(text: string): Map<number, BacktickRun> {
  const runs = new Map<number, BacktickRun>()
  const nextOfLength = new Map<number, number>()
  for (const { 0: run, index } of [...text.matchAll(/`+/g)].reverse()) {
    runs.set(index, { length: run.length, closing: nextOfLength.get(run.length) ?? null })
    nextOfLength.set(run.length, index)
  }
  return runs
}

const isSpace = (text: string, at: number): boolean => space.test(text[at]!)
const space = /\s/

/**
 * Whether a marker may be at the index: there must be no letter or digit on that side, and no backslash before it.
 * Letters of scripts without spaces between words do not count, so that 太*字* is emphasis and snake_case stays text.
 */
function isBoundary(text: string, at: number, side: 'before' | 'after'): boolean {
  if (side === 'after') return !isWordCharacter(text.codePointAt(at))
  const isLowSurrogate = (text.charCodeAt(at - 1) & 0xfc00) === 0xdc00
  return !isWordCharacter(at === 0 ? undefined : text.codePointAt(at - (isLowSurrogate && at > 1 ? 2 : 1)))
}

/** Whether a marker of emphasis has no effect beside the character: a letter, a digit or a backslash. */
export function isWordCharacter(codePoint: number | undefined): boolean {
  if (codePoint === undefined) return false
  const character = String.fromCodePoint(codePoint)
  return wordCharacter.test(character) && !scriptWithoutSpaces.test(character)
}

const wordCharacter = /[\p{L}\p{M}\p{N}\\]/u
const scriptWithoutSpaces =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u
