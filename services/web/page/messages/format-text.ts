import { linkTextForm, parseMarkup } from '@parley/markup'

export type Format = 'bold' | 'italic' | 'strike' | 'code' | 'quote' | 'list' | 'link'
type Inline = Extract<Format, 'bold' | 'italic' | 'strike' | 'code'>

const signs: Record<Inline, string> = { bold: '**', italic: '_', strike: '~', code: '`' }
const prefixes = { quote: { text: '> ', pattern: /^> ?/ }, list: { text: '- ', pattern: /^- / } }
const fence = '```'
const codeBlock = /^```[\w+#.-]*\n([\s\S]*?)\n``` *$/gm
const link = new RegExp(`\\[(${linkTextForm})?\\]\\([^\\s)]*\\)`, 'g')
/** The text of each line, without the spaces at its ends, inside of which signs have no effect. */
const lineTexts = /\S(?:.*\S)?/g

/** `text` replaces what is between `start` and `end`. Then the text between `selected[0]` and `selected[1]` is selected. */
interface TextEdit {
  start: number
  end: number
  text: string
  selected: readonly [number, number]
}

/**
 * Puts the characters of a format around the selected text, or before each of its lines. When the text has the format already, it removes
 * them. The result is selected, so that the same format can be removed again.
 */
export function editFor(format: Format, value: string, start: number, selectionEnd: number): TextEdit {
  // The line break after the last selected line does not belong to it.
  const end = start < selectionEnd && value[selectionEnd - 1] === '\n' ? selectionEnd - 1 : selectionEnd
  if (format === 'link') return editLink(value, start, end)
  if (format === 'quote' || format === 'list') return editLines(prefixes[format], value, start, end)
  const block = format === 'code' ? editCodeBlock(value, start, end) : undefined
  if (block) return block
  return start === end ? editAtCaret(format, value, start) : editSelected(format, value, start, end)
}

const replacement = (start: number, end: number, text: string): TextEdit => ({
  start,
  end,
  text,
  selected: [start, start + text.length],
})

function linesAround(value: string, start: number, end: number): [start: number, end: number] {
  return [value.slice(0, start).lastIndexOf('\n') + 1, `${value}\n`.indexOf('\n', end)]
}

function editLink(value: string, start: number, end: number): TextEdit {
  for (const { 0: whole, 1: label = '', index } of value.matchAll(link)) {
    const after = index + whole.length
    if (start < end ? index <= start && end <= after : index < start && end < after)
      return replacement(index, after, label)
  }
  const label = value.slice(start, end)
  const text = `[${label}](https://)`
  // The next text that is typed is the missing part.
  const labelEnd = start + 1 + label.length
  return {
    start,
    end,
    text,
    selected: label === '' ? [labelEnd, labelEnd] : [labelEnd + 2, start + text.length - 1],
  }
}

function editLines(prefix: { text: string; pattern: RegExp }, value: string, start: number, end: number): TextEdit {
  const [from, to] = linesAround(value, start, end)
  const lines = value.slice(from, to).split('\n')
  const isMarked =
    lines.some((line) => prefix.pattern.test(line)) &&
    lines.every((line) => line.trim() === '' || prefix.pattern.test(line))
  const edited = lines.map((line) => (isMarked ? line.replace(prefix.pattern, '') : prefix.text + line))
  const edit = replacement(from, to, edited.join('\n'))
  if (start < end) return edit
  const caret = Math.max(from, start + edit.text.length - (to - from))
  return { ...edit, selected: [caret, caret] }
}

/** Undefined when the text is a part of one line, so that it does not become a block. */
function editCodeBlock(value: string, start: number, end: number): TextEdit | undefined {
  const [from, to] = linesAround(value, start, end)
  for (const { 0: whole, 1: code, index } of value.matchAll(codeBlock)) {
    const codeStart = whole.indexOf('\n') + 1 + index
    const isCode = from === codeStart && to === codeStart + code!.length
    const isBlock = from === index && to === index + whole.length
    if (isCode || isBlock) return replacement(index, index + whole.length, code!)
  }
  if (!value.slice(start, end).includes('\n')) return undefined
  return replacement(from, to, `${fence}\n${value.slice(from, to)}\n${fence}`)
}

function editAtCaret(format: Inline, value: string, at: number): TextEdit {
  const sign = signs[format]
  const after = at + sign.length
  const moveTo = (start: number, end: number, text: string, caret: number): TextEdit => ({
    start,
    end,
    text,
    selected: [caret, caret],
  })
  const before = at - sign.length
  if (before >= 0 && value.startsWith(sign + sign, before)) return moveTo(before, after, '', before)
  // The person has typed the text with the format, and continues after it.
  const [lineStart] = linesAround(value, at, at)
  if (value.startsWith(sign, at) && inlinesOf(value.slice(lineStart, after)).at(-1)?.kind === format)
    return moveTo(at, at, '', after)
  return moveTo(at, at, sign + sign, after)
}

/** Puts signs around each line, because emphasis ends with its paragraph. */
function editSelected(format: Inline, value: string, start: number, end: number): TextEdit {
  const [from, to] = withSignsAround(value, start, end)
  const text = value.slice(from, to)
  const inner = unmark(format, text)
  if (inner !== undefined) return replacement(from, to, inner)
  const isMarked = (text.match(lineTexts) ?? []).every((line) => unmark(format, line) !== undefined)
  const edited = text.replace(lineTexts, (line) => {
    const unmarked = unmark(format, line)
    return isMarked ? unmarked! : unmarked === undefined ? mark(format, line) : line
  })
  return replacement(from, to, edited)
}

/** Extends a selection by the signs of markup that are directly around it. */
function withSignsAround(value: string, start: number, end: number): [start: number, end: number] {
  const selected = value.slice(start, end)
  if (selected.trim() === '') return [start, end]
  let from = start + selected.length - selected.trimStart().length
  let to = end - (selected.length - selected.trimEnd().length)
  for (;;) {
    const character = value[from - 1]
    if (character === undefined || !'*_~`'.includes(character)) return [from, to]
    let outer = from - 1
    while (value[outer - 1] === character) outer--
    const sign = value.slice(outer, from)
    const after = to + sign.length
    // With the characters around them, because signs within a word are text.
    const context = `${value.slice(Math.max(0, outer - 2), outer)}${sign}x${sign}${value.slice(after, after + 2)}`
    const isMarkup = value.startsWith(sign, to) && inlinesOf(context).some(({ kind }) => kind in signs)
    if (!isMarkup || !markupAround(value.slice(outer, after))) return [from, to]
    from = outer
    to = after
  }
}

/** Puts the signs around a text. Code goes inside of other signs, because it has no markup inside. */
function mark(format: Inline, text: string): string {
  const around = format === 'code' ? markupAround(text) : undefined
  if (!around) return signs[format] + text + signs[format]
  return around.sign + mark(format, around.inner) + around.sign
}

/** Removes the signs of a format, which may be inside of other signs. Undefined when the whole text does not have the format. */
function unmark(format: Inline, text: string): string | undefined {
  const around = markupAround(text)
  if (around?.format === format) return around.inner
  if (!around || around.format === 'code') return undefined
  const inner = unmark(format, around.inner)
  return inner === undefined ? undefined : around.sign + inner + around.sign
}

/** The outermost markup of a text. Undefined when the whole text is not inside of the same signs. */
function markupAround(text: string): { format: Inline; sign: string; inner: string } | undefined {
  const [start, only, ...others] = inlinesOf(text)
  if (start?.kind !== 'text' || start.text !== lineStart || !only || others.length > 0) return undefined
  const { kind } = only
  if (kind !== 'bold' && kind !== 'italic' && kind !== 'strike' && kind !== 'code') return undefined
  const [sign] = /^(?:\*+|_|~+|`+)/.exec(text)!
  return { format: kind, sign, inner: text.slice(sign.length, -sign.length) }
}

/** With it before a text, the text does not begin a quote, a list or a block of code. */
const lineStart = '.'

/** The parts of a text of one paragraph, after the text `lineStart`. */
function inlinesOf(text: string) {
  const [block, ...others] = parseMarkup(lineStart + text)
  return block?.kind === 'paragraph' && others.length === 0 ? block.children : []
}
