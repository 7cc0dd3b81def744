import { Parser } from 'htmlparser2'

/** A text of an HTML document, or an element. Its name is in small letters. */
export type HtmlNode = string | HtmlElement
export interface HtmlElement {
  name: string
  attributes: Record<string, string>
  children: HtmlNode[]
}

/** The parser takes time that grows with the square of the depth. */
const maxDepth = 100
const stepLength = 16_384

/**
 * Reads the HTML of the clipboard. The parsers of the browser cannot be used: the policy of the page for Trusted Types refuses them. So no
 * script can run, and no image is fetched. Returns undefined when elements are nested too deeply.
 */
export function readHtml(html: string): HtmlNode[] | undefined {
  const root: HtmlElement = { name: '', attributes: {}, children: [] }
  const open = [root]
  let isTooDeep = false
  const parser = new Parser({
    onopentag(name, attributes) {
      const element = { name, attributes, children: [] }
      open.at(-1)!.children.push(element)
      open.push(element)
      if (open.length > maxDepth) isTooDeep = true
    },
    ontext(text) {
      const { children } = open.at(-1)!
      // The parser divides a text at each character that is written as an entity.
      if (typeof children.at(-1) === 'string') children[children.length - 1] += text
      else children.push(text)
    },
    onclosetag() {
      open.pop()
    },
  })
  for (let at = 0; at < html.length && !isTooDeep; at += stepLength) parser.write(html.slice(at, at + stepLength))
  if (isTooDeep) return undefined
  parser.end()
  return root.children
}
