import { signal } from '@preact/signals'

/** The emoji that no font of this browser has a picture for. */
export const undrawable = signal<ReadonlySet<string>>(new Set())

const sizePx = 16
/** The emoji fonts of the styles. A canvas would prefer a font without colours, which the styles prevent by `font-variant-emoji`. */
const families = '"Apple Color Emoji", "Segoe UI Emoji", "Noto Color Emoji", "Parley Emoji"'
/** An emoji that every font with emoji has. */
const known = '\u{1f600}'

/** Checks which of the newest emoji the browser can draw. Otherwise it draws a box, or several emoji side by side. */
export async function checkNewest(newest: readonly string[]) {
  const canvas = document.createElement('canvas')
  canvas.width = sizePx
  canvas.height = sizePx
  const context = canvas.getContext('2d', { willReadFrequently: true })!
  context.font = `${sizePx}px ${families}`
  context.textBaseline = 'top'
  const isColoured = (emoji: string) => {
    context.fillStyle = '#000'
    context.clearRect(0, 0, sizePx, sizePx)
    context.fillText(emoji, 0, 0)
    const { data } = context.getImageData(0, 0, sizePx, sizePx)
    return data.some((value, index) => index % 4 === 0 && (value !== data[index + 1] || value !== data[index + 2]))
  }
  if (!isColoured(known)) {
    // The machine has no font with emoji, so that of the page is needed. It cannot be loaded without a network.
    undrawable.value = new Set(newest)
    await document.fonts.load(`${sizePx}px "Parley Emoji"`, known).catch(() => [])
  }
  const widest = context.measureText(known).width * 1.5
  const isDrawn = (emoji: string) => context.measureText(emoji).width < widest && isColoured(emoji)
  // In a font without colours, a picture cannot be told from a box. Then none of them is offered.
  undrawable.value = new Set(isColoured(known) ? newest.filter((emoji) => !isDrawn(emoji)) : newest)
}
