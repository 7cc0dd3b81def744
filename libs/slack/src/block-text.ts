import type { BlockButton, BlockImage, BlockText, MessageBlock, RichText, RichTextPart } from '@parley/contract'
import { markupLink } from './mrkdwn.ts'

/** The text of blocks as markup, for search, notifications, mails and clients that do not show blocks. */
export function textOfBlocks(blocks: readonly MessageBlock[]): string {
  return blocks
    .map(textOfBlock)
    .filter((text) => text.trim() !== '')
    .join('\n')
}

function textOfBlock(block: MessageBlock): string {
  switch (block.type) {
    case 'header':
      return `*${block.text.text}*`
    case 'section': {
      const { text, fields = [], accessory } = block
      return lines([text?.text, ...fields.map((field) => field.text), accessory && textOfElement(accessory)])
    }
    case 'context':
      return block.elements.map(textOfElement).join(' ')
    case 'divider':
      return ''
    case 'image':
      return textOfElement(block)
    case 'actions':
      return block.elements.map(textOfElement).join(' ')
    case 'rich_text':
      return textOfRichText(block)
    case 'table':
      return lines(block.rows.map((row) => row.map(textOfCell).join(' | ')))
    case 'attachment':
      return textOfBlocks(block.blocks)
  }
}

function textOfElement(element: BlockText | BlockImage | BlockButton): string {
  switch (element.type) {
    case 'image':
      return markupLink(element.title?.text || element.alt_text, element.image_url)
    case 'button':
      return element.url === undefined ? element.text.text : markupLink(element.text.text, element.url)
    default:
      return element.text
  }
}

const textOfCell = (cell: BlockText | RichText) => (cell.type === 'rich_text' ? textOfRichText(cell) : cell.text)

const textOfRichText = ({ elements }: RichText): string =>
  lines(
    elements.map((element) => {
      if (element.type === 'rich_text_list')
        return lines(
          element.elements.map(
            (item, n) => `${element.style === 'ordered' ? `${n + 1}.` : '-'} ${textOfParts(item.elements)}`,
          ),
        )
      const text = textOfParts(element.elements)
      if (element.type === 'rich_text_preformatted') return `\`\`\`\n${text}\n\`\`\``
      return element.type === 'rich_text_quote' ? `> ${text.replaceAll('\n', '\n> ')}` : text
    }),
  )

const textOfParts = (parts: RichTextPart[]) => parts.map(textOfPart).join('')

function textOfPart(part: RichTextPart): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'link':
      return part.text === undefined || part.text === part.url ? part.url : markupLink(part.text, part.url)
    case 'emoji':
      return `:${part.name}:`
  }
}

const lines = (texts: (string | undefined)[]) =>
  texts.filter((text) => text !== undefined && text.trim() !== '').join('\n')
