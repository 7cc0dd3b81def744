import { type Block, deepestLevel, type MarkupOptions } from './document.ts'
import { parseInlines } from './inlines.ts'

/**
 * Reads Parley's markup, as docs/markup.md defines it. Every text is valid: everything that is not markup is text. It
 * takes linear time, whatever the text contains.
 */
export function parseMarkup(content: string, options: MarkupOptions = {}): Block[] {
  return parseBlocks(content.split(/\r\n|\r|\n/), 0, options)
}

/** Each line is read once per level, and there are at most eight levels. */
function parseBlocks(lines: string[], level: number, options: MarkupOptions): Block[] {
  const blocks: Block[] = []
  let paragraph: string[] = []
  const endParagraph = () => {
    if (paragraph.length > 0) {
      blocks.push({ kind: 'paragraph', children: parseInlines(paragraph.join('\n'), level, options) })
    }
    paragraph = []
  }

  for (let at = 0; at < lines.length; ) {
    const found = level < deepestLevel ? blockAt(lines, at, level, options) : null
    if (found) {
      endParagraph()
      blocks.push(found.block)
      at = found.end
    } else {
      if (lines[at]!.trim() === '') endParagraph()
      else paragraph.push(lines[at]!)
      at++
    }
  }
  endParagraph()
  return blocks
}

interface FoundBlock {
  block: Block
  /** Index of the first line after it. */
  end: number
}

/** The quote, list or code block that begins with the line; null when none begins there. */
function blockAt(lines: string[], at: number, level: number, options: MarkupOptions): FoundBlock | null {
  const line = lines[at]!
  if (line.startsWith(fence)) return codeBlockAt(lines, at)
  if (line.startsWith('>')) return quoteAt(lines, at, level, options)
  if (listItem.test(line)) return listAt(lines, at, level, options)
  return null
}

const fence = '```'

/** A code block ends with the next line that ends with a fence, or with the last line. It may be on a single line. */
function codeBlockAt(lines: string[], at: number): FoundBlock {
  const opening = lines[at]!.slice(fence.length)
  const language = languageName.exec(opening)?.[0] ?? null
  const text: string[] = []
  if (language === null && opening.trim() !== '') {
    const onlyLine = endingWithFence(opening)
    if (onlyLine !== null) return { block: { kind: 'code-block', language: null, text: onlyLine }, end: at + 1 }
    text.push(opening)
  }

  let end = at + 1
  for (; end < lines.length; end++) {
    const lastLine = endingWithFence(lines[end]!)
    if (lastLine === null) {
      text.push(lines[end]!)
      continue
    }
    if (lastLine !== '') text.push(lastLine)
    end++
    break
  }
  return { block: { kind: 'code-block', language: language?.toLowerCase() ?? null, text: text.join('\n') }, end }
}

const languageName = /^[A-Za-z][A-Za-z0-9_+#.-]{0,31}$/

/** The text before the fence at the end of the line; null when the line does not end with a fence. */
function endingWithFence(line: string): string | null {
  const text = line.trimEnd()
  return text.endsWith(fence) ? text.slice(0, -fence.length) : null
}

function quoteAt(lines: string[], at: number, level: number, options: MarkupOptions): FoundBlock {
  let end = at
  const quoted: string[] = []
  for (; end < lines.length && lines[end]!.startsWith('>'); end++) quoted.push(lines[end]!.replace(/^> ?/, ''))
  return { block: { kind: 'quote', children: parseBlocks(quoted, level + 1, options) }, end }
}

/** `- text` or `1. text`, indented by up to three spaces. */
const listItem = /^ {0,3}(-|\d{1,9}\.) +(?=\S)/

/** An item continues with the lines that are indented by two spaces more than the list, or by a tab. */
function listAt(lines: string[], at: number, level: number, options: MarkupOptions): FoundBlock {
  const markerOf = (line: string) => listItem.exec(line)?.[1]
  const first = markerOf(lines[at]!)!
  const listIndent = indentOf(lines[at]!)
  const belongsToItem = (line: string) => line.trim() !== '' && (line[0] === '\t' || indentOf(line) >= listIndent + 2)
  const beginsItem = (line: string) => {
    const marker = markerOf(line)
    return marker !== undefined && (marker === '-') === (first === '-')
  }

  const items: Block[][] = []
  let end = at
  while (end < lines.length && beginsItem(lines[end]!)) {
    const item = [lines[end]!.replace(listItem, '')]
    end++
    const itemIndent = end < lines.length ? indentOf(lines[end]!) : 0
    for (; end < lines.length && belongsToItem(lines[end]!); end++) item.push(withoutIndent(lines[end]!, itemIndent))
    items.push(parseBlocks(item, level + 1, options))
  }
  return { block: { kind: 'list', start: first === '-' ? null : Number.parseInt(first, 10), items }, end }
}

const indentOf = (line: string) => /^ */.exec(line)![0].length
const withoutIndent = (line: string, width: number) =>
  line[0] === '\t' ? line.slice(1) : line.slice(Math.min(width, indentOf(line)))
