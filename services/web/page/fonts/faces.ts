import emoji from 'virtual:emoji-font'
import inter from 'virtual:inter'

/** The browser fetches a part of a font when a text needs it. */
const all = [
  ...inter.map(([file, unicodeRange, style]) => {
    const face = { style, weight: '100 900', unicodeRange, display: 'swap' } as const
    return new FontFace('Inter Variable', `url(${file})`, face)
  }),
  // For machines without emoji, such as a Linux without the packages of a desktop. The styles name this family behind those of
  // the large systems. Safari does not know this kind of colours and takes nothing: it has emoji of its own.
  ...emoji.map(([file, unicodeRange]) => {
    const sources = `local("Noto Color Emoji"), url(${file}) format(woff2) tech(color-COLRv1)`
    return new FontFace('Parley Emoji', sources, { unicodeRange, display: 'swap' })
  }),
]
/** Has what most texts need. */
const [latin] = all

/** Before the first text is drawn. */
export function addFaces() {
  for (const face of all) document.fonts.add(face)
  // Now, and not only when the first text is there. Without it the fonts of the system stay.
  latin!.load().catch(() => {})
}

/** So many frames may pass until a list knows the new heights of its rows. */
const mostFrames = 4

/** While texts are shown: a list that is at its end stays there, although some texts get more lines. */
export async function exchangeFaces() {
  await latin!.load()
  const lists = [...document.querySelectorAll('.feed-scroller')]
  const atEnd = lists.filter(({ scrollTop, clientHeight, scrollHeight }) => scrollTop + clientHeight > scrollHeight - 2)
  for (const face of all) document.fonts.add(face)
  for (let frame = 0; frame < mostFrames; frame++) {
    for (const list of atEnd) list.scrollTop = list.scrollHeight
    await new Promise(requestAnimationFrame)
  }
}
