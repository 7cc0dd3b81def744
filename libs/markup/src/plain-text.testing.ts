import type { Block, Inline } from './document.ts'

/** The text without markers, as a reader sees it. */
export function toPlainText(blocks: Block[]): string {
  return blocks.map(blockText).join('\n')
}

function blockText(block: Block): string {
  switch (block.kind) {
    case 'paragraph':
      return inlineText(block.children)
    case 'quote':
      return withPrefix(toPlainText(block.children), '> ', '> ')
    case 'list':
      return block.items
        .map((item, index) => {
          const marker = block.start === null ? '- ' : `${block.start + index}. `
          return withPrefix(toPlainText(item), marker, ' '.repeat(marker.length))
        })
        .join('\n')
    case 'code-block':
      return block.text
  }
}

const withPrefix = (text: string, first: string, others: string) => first + text.replaceAll('\n', `\n${others}`)

function inlineText(parts: Inline[]): string {
  return parts.map(partText).join('')
}

function partText(part: Inline): string {
  switch (part.kind) {
    case 'text':
    case 'code':
      return part.text
    case 'break':
      return '\n'
    case 'link': {
      const text = inlineText(part.children)
      return text === part.url ? text : `${text} (${part.url})`
    }
    case 'mention':
      return `@${part.name}`
    case 'channel':
      return `#${part.name}`
    case 'emoji':
      return `:${part.name}:`
    default:
      return inlineText(part.children)
  }
}
