import { isWordCharacter, linkTextForm } from '@parley/markup'

export interface Format {
  bold?: boolean
  italic?: boolean
  strike?: boolean
  code?: boolean
  url?: string | undefined
}

/** A part of a line that has one format. */
export interface Run extends Format {
  text: string
}

/** From the outermost to the innermost. */
const formats = ['url', 'bold', 'italic', 'strike', 'code'] as const
const signs = { bold: '**', italic: '_', strike: '~' }
const linkText = new RegExp(`^${linkTextForm}$`)

/** A line in the markup of messages, and whether it has a format. */
export function markupOfRuns(runs: readonly Run[]): { text: string; hasFormat: boolean } {
  const plain = runs.map(({ text }) => text).join('')
  const text = markUp(runs, 0, '', '').trim()
  return { text, hasFormat: text !== plain.trim() }
}

const isBlank = ({ text }: Run) => text.trim() === ''

/** `before` and `after` are the characters around the runs. */
function markUp(runs: readonly Run[], depth: number, before: string, after: string): string {
  const format = formats[depth]
  const text = runs.map((run) => run.text).join('')
  if (format === undefined || text.trim() === '') return text
  let result = ''
  for (let at = 0; at < runs.length; ) {
    const value = runs[at]![format]
    let end = at + 1
    // Spaces between two texts of a format have it too.
    while (end < runs.length && runs[end + Number(isBlank(runs[end]!))]?.[format] === value) end++
    const group = runs.slice(at, end)
    const around = [runs[at - 1]?.text.at(-1) ?? before, runs[end]?.text[0] ?? after] as const
    result += value ? wrap(group, depth, value, ...around) : markUp(group, depth + 1, ...around)
    at = end
  }
  return result
}

/** Puts the signs of a format around the text of the runs, without the spaces at its ends. */
function wrap(runs: readonly Run[], depth: number, value: string | true, before: string, after: string): string {
  const text = runs.map((run) => run.text).join('')
  const inner = markUp(runs, depth + 1, before, after)
  const start = text.length - text.trimStart().length
  const end = text.length - text.trimEnd().length
  const core = inner.trim()
  if (core === '') return inner
  const [head, tail] = [text.slice(0, start), text.slice(text.length - end)]
  const marked = markedBy(formats[depth]!, core, value, {
    before: head === '' ? before : ' ',
    after: tail === '' ? after : ' ',
  })
  return head + marked + tail
}

function markedBy(
  format: keyof Format,
  core: string,
  value: string | true,
  { before, after }: { before: string; after: string },
) {
  if (format === 'url') return linkOf(core, String(value))
  if (format === 'code') return codeOf(core)
  // Beside a letter or a digit a sign has no effect.
  if (isWordCharacter(before.codePointAt(0)) || isWordCharacter(after.codePointAt(0))) return core
  return signs[format] + core + signs[format]
}

/** There is no link for a name, the number of a footnote, and a text that cannot be that of a link. */
function linkOf(label: string, url: string): string {
  if (label === url || /^(?:[@#]\S+|\[\d+\])$/.test(label) || !linkText.test(label)) return label
  return `[${label}](${url})`
}

function codeOf(text: string): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0)
  const sign = '`'.repeat(longest + 1)
  const space = longest > 0 ? ' ' : ''
  return sign + space + text + space + sign
}
