import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'

const highlight = 'found'

/**
 * Marks a text in the messages of an element, also when they are rendered again or when more of them are added. The browser paints the
 * marks, so the messages keep their elements. An older browser without the CSS Custom Highlight API shows no marks.
 */
export function useHighlights(root: RefObject<HTMLElement | null>, text: string) {
  useEffect(() => {
    if (!('highlights' in CSS)) return
    const wanted = text.toLowerCase()
    const mark = () => {
      const texts = [...root.current!.querySelectorAll(':is(.message-body, .edited) > :is(.text, .blocks)')]
      CSS.highlights.set(highlight, new Highlight(...texts.flatMap((element) => rangesOf(wanted, element))))
    }
    mark()
    const observer = new MutationObserver(mark)
    observer.observe(root.current!, { childList: true, characterData: true, subtree: true })
    return () => {
      observer.disconnect()
      CSS.highlights.delete(highlight)
    }
  }, [text])
}

/** The places of a text in an element. As in the search of the server, upper and lower case do not matter. */
function rangesOf(wanted: string, element: Element): Range[] {
  if (wanted === '') return []
  const { lower, places } = lowerTextOf(element)
  const ranges: Range[] = []
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length)) {
    const [first, last] = [places[at]!, places[at + wanted.length - 1]!]
    const range = document.createRange()
    range.setStart(first[0], first[1])
    range.setEnd(last[0], last[2])
    ranges.push(range)
  }
  return ranges
}

/** The text of an element in lower case, and for each of its characters the node and the offsets of the one that it comes from. */
function lowerTextOf(element: Element) {
  let lower = ''
  const places: [node: Node, start: number, end: number][] = []
  const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    let offset = 0
    for (const character of node.nodeValue ?? '') {
      const letters = character.toLowerCase()
      lower += letters
      const end = offset + character.length
      for (let index = 0; index < letters.length; index++) places.push([node, offset, end])
      offset = end
    }
  }
  return { lower, places }
}
