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

/**
 * Adds the fonts while texts are shown. Some texts may get more lines. Lists that are at their end are scrolled to it in the same turn of
 * the event loop, because a list takes every other new position for a scroll of the person.
 */
export async function exchangeFaces() {
  if (!(await loadLatin())) return
  const lists = [...document.querySelectorAll('.feed-scroller')]
  const atEnd = lists.filter(({ scrollTop, clientHeight, scrollHeight }) => scrollTop + clientHeight > scrollHeight - 2)
  addFaces()
  for (const list of atEnd) list.scrollTop = list.scrollHeight
}
