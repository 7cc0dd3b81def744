import type { Block, Inline } from './document.ts'
import { bareUrlAt, type TextOrLink } from './inlines.ts'
import { parseMarkup } from './parse.ts'

/** The addresses of the links of a text, in their order and without duplicates. Links within code do not count. */
export function listLinks(content: string): string[] {
  const links = new Set<string>()
  const visitInlines = (inlines: readonly Inline[]) => {
    for (const inline of inlines) {
      if (inline.kind === 'link') links.add(inline.url)
      else if ('children' in inline) visitInlines(inline.children)
    }
  }
  const visit = (blocks: readonly Block[]) => {
    for (const block of blocks) {
      if (block.kind === 'paragraph') visitInlines(block.children)
      else if (block.kind === 'quote') visit(block.children)
      else if (block.kind === 'list') for (const item of block.items) visit(item)
    }
  }
  visit(parseMarkup(content))
  return [...links]
}

/** A text of one line without markup, such as a topic, as texts and links. Addresses are found as in a message. */
export function parseLinks(text: string): TextOrLink[] {
  const parts: TextOrLink[] = []
  let textStart = 0
  const addText = (end: number) => {
    if (end > textStart) parts.push({ kind: 'text', text: text.slice(textStart, end) })
  }
  for (const { index } of text.matchAll(/http|mailto:/gi)) {
    const found = index < textStart ? null : bareUrlAt(text, index)
    if (!found) continue
    addText(index)
    parts.push(found.part)
    textStart = found.end
  }
  addText(text.length)
  return parts
}
