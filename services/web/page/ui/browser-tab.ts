/** It takes a browser longer to change the title than to draw a message: many that come at once change it once. */
const titleEveryMs = 500

let wanted = ''
let timer: ReturnType<typeof setTimeout> | undefined

/** Gives the page a title: at once, or soon when it was changed a moment ago. */
export function showTitle(title: string) {
  wanted = title
  if (timer !== undefined || document.title === wanted) return
  document.title = wanted
  timer = setTimeout(() => {
    timer = undefined
    showTitle(wanted)
  }, titleEveryMs)
}

/** A dot on the icon of the page. */
const dot = '<circle cx="50" cy="14" r="13" fill="#e03131" stroke="#fff" stroke-width="3"/>'

/** A picture of pixels, because a browser needs longer for its first SVG. */
const plain = '/icons/192.png'
const drawing = '/icon.svg'
let marked: Promise<string> | undefined

/** Whether the icon in the tab says that somebody waits for an answer. */
export async function markIcon(isMarked: boolean) {
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  if (!link) return
  link.dataset.marked = String(isMarked)
  if (isMarked) marked ??= drawMarked()
  const href = isMarked ? await marked! : plain
  // It may have changed again meanwhile.
  if (link.dataset.marked === String(isMarked) && link.getAttribute('href') !== href) link.href = href
}

/** It is the icon of the page itself, from the server or from what the service worker keeps. */
async function drawMarked(): Promise<string> {
  try {
    const icon = await (await fetch(drawing)).text()
    return URL.createObjectURL(new Blob([icon.replace('</svg>', `${dot}</svg>`)], { type: 'image/svg+xml' }))
  } catch {
    // Without a network the icon stays as it is, and is asked for again next time.
    marked = undefined
    return plain
  }
}
