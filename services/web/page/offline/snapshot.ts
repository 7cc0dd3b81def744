import { effect } from '@preact/signals'
import type { Snapshot } from '../../worker/notes.ts'
import { session } from '../app/session.ts'
import { tellWorker } from './worker.ts'

/** Elements that a snapshot has. Everything else is left out with all that is in it. */
const withoutEnd = new Set(['br', 'hr', 'img', 'input', 'wbr'])
const kept = new Set([
  ...withoutEnd,
  ...[
    'div',
    'span',
    'header',
    'main',
    'nav',
    'aside',
    'section',
    'article',
    'form',
    'search',
    'label',
    'button',
    'textarea',
  ],
  ...['h1', 'h2', 'h3', 'p', 'ul', 'ol', 'li', 'blockquote', 'pre', 'code', 'a', 'time'],
  ...['b', 'bdi', 'em', 'strong', 's', 'small', 'svg', 'path'],
  ...['table', 'thead', 'tbody', 'tr', 'th', 'td'],
])
const attributes =
  /^(class|dir|lang|data-(?!message)[a-z]+|aria-(current|pressed)|viewBox|d|width|height|type|rows|start|placeholder|disabled)$/
/** Longer ones take longer to read than the page takes to start. */
const mostCharacters = 150_000
/** Whoever is farther from the newest message does not begin there. */
const nearEndPx = 80

/**
 * Gives the service worker a snapshot of the page whenever somebody leaves it, so that the next start shows it at once. The snapshot of
 * somebody else is removed.
 */
export function keepSnapshots() {
  effect(() => {
    const { value } = session
    if (value.state === 'signed-in') void tellWorker({ kind: 'signed in', userId: value.workspace.myId })
  })
  const keep = () => void tellWorker({ kind: 'snapshot', snapshot: takeSnapshot() })
  addEventListener('pagehide', keep)
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) keep()
  })
}

const shown = () => document.getElementById('snapshot')

/** Whether the page began with a snapshot. */
export const hasSnapshot = () => shown() !== null

/** The page itself is there now. */
export const removeSnapshot = () => shown()?.remove()

/** Null when the next start would look different: it begins at the newest messages of a channel or conversation. */
function takeSnapshot(): Snapshot | null {
  const isPlace = /^\/c\/[^/]+$/.test(location.pathname)
  const { value } = session
  if (value.state !== 'signed-in' || !isPlace || document.querySelector('dialog[open]')) return null
  const list = document.querySelector('.main .feed-scroller')
  if (!list || list.scrollHeight - list.clientHeight - list.scrollTop > nearEndPx) return null
  const parts: string[] = []
  for (const child of document.getElementById('app')!.children) write(child, parts)
  const html = parts.join('')
  const { lang, dir, dataset } = document.documentElement
  if (html.length > mostCharacters) return null
  return { userId: value.workspace.myId, pathname: location.pathname, html, root: { lang, dir, ...dataset } }
}

/** Writes an element as HTML: only elements and attributes of the lists above, and of long lists only what is in sight. */
function write(element: Element, parts: string[]) {
  const name = element.localName
  if (!kept.has(name) || element.matches('.gap, [popover]') || !isInSight(element)) return
  if (name === 'img') {
    // Nothing of the picture, only its place: without it all rows above would stand lower than in the page.
    const { width, height } = element.getBoundingClientRect()
    parts.push('<svg class="picture" width="', `${width}`, '" height="', `${height}`, '"></svg>')
    return
  }
  parts.push('<', name)
  for (const { name: attribute, value } of element.attributes) {
    if (attributes.test(attribute)) parts.push(' ', attribute, '="', escaped(value), '"')
  }
  parts.push('>')
  if (withoutEnd.has(name)) return
  // What is typed into it, which its nodes do not have. The parser leaves out a line break at its beginning.
  if (element instanceof HTMLTextAreaElement) parts.push('\n', escaped(element.value))
  else
    for (const child of element.childNodes) {
      if (child instanceof Element) write(child, parts)
      else if (child instanceof Text) parts.push(escaped(child.data))
    }
  parts.push('</', name, '>')
}

/** Rows of the two lists that may be very long. The next start shows the newest message, also if it was a little below the window. */
function isInSight(element: Element): boolean {
  const scroller = element.matches('.feed-rows > *') ? '.feed-scroller' : element.matches('.sidebar li') && '.sidebar'
  const window = scroller && element.closest(scroller)?.getBoundingClientRect()
  if (!window) return true
  const { top, bottom } = element.getBoundingClientRect()
  return bottom > window.top && top < window.bottom + (scroller === '.feed-scroller' ? nearEndPx : 0)
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => escapes[character]!)
