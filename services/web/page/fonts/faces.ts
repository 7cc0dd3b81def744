import emoji from 'virtual:emoji-font'
import inter from 'virtual:inter'

/** The browser fetches a part of a font when a text needs it. */
const all = [
  ...inter.map(([file, unicodeRange, style]) => {
    // Without this setting, Inter replaces some characters, such as "->" by an arrow, and texts with many brackets render ten times slower.
    const featureSettings = '"calt" 0'
    const face = { style, weight: '100 900', unicodeRange, featureSettings, display: 'swap' } as const
    return new FontFace('Inter Variable', `url(${file})`, face)
  }),
  // For machines without an emoji font, such as a Linux without desktop packages. The styles name this family after those of the large
  // systems. Safari does not support COLRv1 and loads nothing, but has its own emoji.
  ...emoji.map(([file, unicodeRange]) => {
    const sources = `local("Noto Color Emoji"), url(${file}) format(woff2) tech(color-COLRv1)`
    return new FontFace('Parley Emoji', sources, { unicodeRange, display: 'swap' })
  }),
]
/** The part with the letters that most texts need. */
const [latin] = all

/**
 * Loads the part that most texts need. The browser itself would wait for the first text. Resolves to whether it is loaded: without it, for
 * instance without a network, the fonts of the system stay.
 */
export const loadLatin = () =>
  latin!.load().then(
    () => true,
    () => false,
  )

/** Adds the fonts before the first text is rendered. */
export function addFaces() {
  for (const face of all) document.fonts.add(face)
}

/** The number of frames until a list has measured the new heights of its rows. */
const maxFrames = 4

/**
 * Adds the fonts while texts are shown. Some texts may get more lines, and lists that are at their end stay at their end, unless a person
 * scrolls away from it meanwhile.
 */
export async function exchangeFaces() {
  if (!(await loadLatin())) return
  const lists = [...document.querySelectorAll('.feed-scroller')]
  let atEnd = lists.filter(({ scrollTop, clientHeight, scrollHeight }) => scrollTop + clientHeight > scrollHeight - 2)
  for (const face of all) document.fonts.add(face)
  const tops = new Map<Element, number>()
  // Rows that get fewer lines move a list too, but not by half of its height.
  const isLeft = (list: Element) => list.scrollTop < (tops.get(list) ?? 0) - list.clientHeight / 2
  for (let frame = 0; frame < maxFrames; frame++) {
    atEnd = atEnd.filter((list) => !isLeft(list))
    for (const list of atEnd) {
      list.scrollTop = list.scrollHeight
      tops.set(list, list.scrollTop)
    }
    await new Promise(requestAnimationFrame)
  }
}
