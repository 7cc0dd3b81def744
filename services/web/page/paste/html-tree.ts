/** A text of an HTML document, or an element. Its name is in small letters. */
export type HtmlNode = string | HtmlElement
export interface HtmlElement {
  name: string
  attributes: Record<string, string>
  children: HtmlNode[]
}

const maxDepth = 100
/** What these contain is no text of the page, and may contain anything. */
const withoutText = new Set(['script', 'style', 'title', 'textarea', 'noscript', 'iframe', 'xmp'])
/** They have no end tag. */
const empty = new Set(['br', 'img', 'hr', 'input', 'meta', 'link', 'wbr', 'col', 'source', 'embed', 'area', 'base'])

const tag = /<(\/?)([a-z][^\s/>]*)((?:[^>"']|"[^"]*"|'[^']*')*)>/iy
const attribute = /[\s/"']+|=|([^\s=/"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+)))?/gy

/**
 * Reads the HTML of the clipboard. The parsers of the browser cannot be used: the policy of the page for Trusted Types refuses them. So no
 * script can run, and no image is fetched. It takes linear time. Returns undefined for a text that is not complete or too deep.
 */
export function readHtml(html: string): HtmlNode[] | undefined {
  const root: HtmlElement = { name: '', attributes: {}, children: [] }
  const open = [root]
  const add = (node: HtmlNode) => open.at(-1)!.children.push(node)
  for (let at = 0; at < html.length; ) {
    const next = html.indexOf('<', at)
    if (next !== at) add(decode(html.slice(at, next < 0 ? undefined : next)))
    if (next < 0) break
    const following = html[next + 1] ?? ''
    if ('!?'.includes(following) && following !== '') {
      const end = html.startsWith('<!--', next) ? '-->' : '>'
      const found = html.indexOf(end, next + 2)
      if (found < 0) return undefined
      at = found + end.length
      continue
    }
    tag.lastIndex = next
    const found = tag.exec(html)
    if (!found) {
      if (/[a-z/]/i.test(following)) return undefined
      add('<')
      at = next + 1
      continue
    }
    at = tag.lastIndex
    const name = found[2]!.toLowerCase()
    if (found[1] === '/') closeElement(open, name)
    else if (withoutText.has(name)) at = endOf(html, name, at)
    else {
      // Their end tags may be missing.
      if (name === 'p' || name === 'li') closeElement(open, name)
      const element = { name, attributes: readAttributes(found[3]!), children: [] }
      add(element)
      if (!empty.has(name)) open.push(element)
      if (open.length > maxDepth) return undefined
    }
  }
  return root.children
}

/** Closes the element and those in it. A new item or paragraph in the item of a list does not close that item. */
function closeElement(open: HtmlElement[], name: string) {
  const at = open.findLastIndex((element) => element.name === name || /^(?:ul|ol|blockquote)$/.test(element.name))
  if (at > 0 && open[at]!.name === name) open.length = at
}

function endOf(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}[^>]*>`, 'gi')
  end.lastIndex = from
  return end.test(html) ? end.lastIndex : html.length
}

function readAttributes(text: string): Record<string, string> {
  const attributes: Record<string, string> = {}
  for (const [, name, ...values] of text.matchAll(attribute)) {
    if (name) attributes[name.toLowerCase()] = decode(values.find((value) => value !== undefined) ?? '')
  }
  return attributes
}

/** Browsers write only the first five. Office programs write others too. */
const characters: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  nbsp: '\u00a0',
  apos: "'",
  ndash: '–',
  mdash: '—',
  hellip: '…',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
}

const decode = (text: string) =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hexadecimal, name) => {
    if (name) return characters[name] ?? whole
    const code = decimal ? Number(decimal) : Number.parseInt(hexadecimal, 16)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
