import type { Snapshot } from '../../worker/notes.ts'
import { t } from '../texts/texts.ts'

const voidElement = /^(br|hr|img|input|wbr)$/
/** The elements that a snapshot may contain. Other elements are left out, with everything in them. */
const allowedElement =
  /^(br|hr|img|input|wbr|div|span|header|main|nav|aside|section|article|form|search|label|button|textarea|h1|h2|h3|p|ul|ol|li|blockquote|pre|code|a|time|b|bdi|em|strong|s|small|svg|path|table|thead|tbody|tr|th|td)$/
const allowedAttribute =
  /^(class|dir|lang|data-(?!message|person)[a-z]+|aria-(current|expanded|pressed)|viewBox|d|width|height|type|rows|start|placeholder|disabled)$/
/** Reading a longer snapshot would take longer than the start of the page. */
const maxCharacters = 150_000
/** A snapshot is taken only when the list is no farther from its end than this, because the next start shows the end. */
const nearEndPx = 80

/** Null when the next start would look different, because it shows the newest messages of a channel or conversation. */
export function takeSnapshot(userId: string): Snapshot | null {
  const isPlace = /^\/c\/[^/]+$/.test(location.pathname)
  if (!isPlace || document.querySelector('dialog[open]')) return null
  const list = document.querySelector('.main .feed-scroller')
  if (!list || list.scrollHeight - list.clientHeight - list.scrollTop > nearEndPx) return null
  const parts: string[] = []
  for (const child of document.getElementById('app')!.children) write(child, parts)
  const html = parts.join('')
  const { lang, dir, dataset } = document.documentElement
  if (html.length > maxCharacters) return null
  const root = { lang, dir, ...dataset, ...fallbackFont() }
  return { userId, pathname: location.pathname, html, late: escaped(t('Connecting…')), root }
}

/** The number of the font of the system that replaces Inter on this machine (`styles/fonts.css`), if it was used. */
function fallbackFont() {
  const used = [...document.fonts].find(({ family, status }) => status === 'loaded' && /Like Inter/.test(family))
  return used && { font: used.family.replace(/\D/g, '') }
}

/** Writes an element as HTML. It writes only allowed elements and attributes, and only the visible rows of long lists. */
function write(element: Element, parts: string[]) {
  const name = element.localName
  if (!allowedElement.test(name) || element.matches('.gap, [popover], [hidden]') || !isVisible(element)) return
  if (name === 'img') {
    // The snapshot has only the space of the picture. Without it, the rows above would be lower than in the page.
    const { width, height } = element.getBoundingClientRect()
    parts.push('<svg class="picture" width="', `${width}`, '" height="', `${height}`, '"></svg>')
    return
  }
  parts.push('<', name)
  for (const { name: attribute, value } of element.attributes) {
    if (allowedAttribute.test(attribute)) parts.push(' ', attribute, '="', escaped(value), '"')
  }
  parts.push('>')
  if (voidElement.test(name)) return
  // The typed text, which the child nodes do not contain. The parser drops a line break at the beginning.
  if (element instanceof HTMLTextAreaElement) parts.push('\n', escaped(element.value))
  else
    for (const child of element.childNodes) {
      if (child instanceof Element) write(child, parts)
      else if (child instanceof Text) parts.push(escaped(child.data))
    }
  parts.push('</', name, '>')
}

/**
 * Whether a row of the messages or of the sidebar is visible. All other elements count as visible. Rows a little below the viewport count
 * too, because the next start shows the end of the list.
 */
function isVisible(element: Element): boolean {
  const scroller = element.matches('.feed-rows > *') ? '.feed-scroller' : element.matches('.places > *') && '.sidebar'
  const viewport = scroller && element.closest(scroller)?.getBoundingClientRect()
  if (!viewport) return true
  const { top, bottom } = element.getBoundingClientRect()
  return bottom > viewport.top && top < viewport.bottom + (scroller === '.feed-scroller' ? nearEndPx : 0)
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => escapes[character]!)
