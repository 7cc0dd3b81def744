import { escapeHtml } from '@parley/mail'
import { type Block, type Inline, parseMarkup } from '@parley/markup'

/** A message as HTML for a mail, with its formatting. Every text in it is escaped. */
export const messageHtml = (content: string): string => blocksHtml(parseMarkup(content))

const blocksHtml = (blocks: Block[]): string => blocks.map(blockHtml).join('\n')

function blockHtml(block: Block): string {
  switch (block.kind) {
    case 'paragraph':
      return `<p>${inlinesHtml(block.children)}</p>`
    case 'quote':
      return `<blockquote>${blocksHtml(block.children)}</blockquote>`
    case 'list': {
      const items = block.items.map((item) => `<li>${blocksHtml(item)}</li>`).join('')
      return block.start === null ? `<ul>${items}</ul>` : `<ol start="${block.start}">${items}</ol>`
    }
    case 'code-block':
      return `<pre style="white-space: pre-wrap">${escapeHtml(block.text)}</pre>`
  }
}

const inlinesHtml = (inlines: Inline[]): string => inlines.map(inlineHtml).join('')

function inlineHtml(inline: Inline): string {
  switch (inline.kind) {
    case 'text':
      return escapeHtml(inline.text)
    case 'break':
      return '<br>'
    case 'code':
      return `<code>${escapeHtml(inline.text)}</code>`
    case 'bold':
      return `<b>${inlinesHtml(inline.children)}</b>`
    case 'italic':
      return `<i>${inlinesHtml(inline.children)}</i>`
    case 'strike':
      return `<s>${inlinesHtml(inline.children)}</s>`
    case 'link':
      return linkHtml(inline.url, inlinesHtml(inline.children))
    case 'mention':
      return `<b>@${escapeHtml(inline.name)}</b>`
    case 'channel':
      return `<b>#${escapeHtml(inline.name)}</b>`
    case 'emoji':
      return `:${escapeHtml(inline.name)}:`
  }
}

/**
 * The address is shown after another text, so that nobody is sent somewhere else than the text says. `bdi`: characters in the text cannot reverse the
 * address.
 */
function linkHtml(url: string, text: string): string {
  const address = escapeHtml(url)
  return `<a href="${address}">${text}</a>${text === address ? '' : ` (<bdi>${address}</bdi>)`}`
}
