import { type Block, type Inline, parseMarkup } from '@parley/markup'

/** More links of a message have no preview. */
const mostLinks = 3
const longestUrl = 2_000

/** The first links of a message to other web sites, each once. Links within code are none. */
export function linksOf(content: string, ownOrigin: string): string[] {
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
  const isElsewhere = (url: string) => /^https?:/i.test(url) && URL.parse(url)?.origin !== ownOrigin
  return [...links].filter((url) => url.length <= longestUrl && isElsewhere(url)).slice(0, mostLinks)
}
