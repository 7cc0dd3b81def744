/** A dot on the icon of the page. */
const dot = '<circle cx="50" cy="14" r="13" fill="#e03131" stroke="#fff" stroke-width="3"/>'

/** A PNG, because the first SVG of a page takes longer. */
const plain = '/icons/192.png'
const svg = '/icon.svg'
let marked: Promise<string> | undefined

/** Shows or hides the dot on the icon of the tab. */
export async function markIcon(isMarked: boolean) {
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  if (!link) return
  link.dataset.marked = String(isMarked)
  if (isMarked) marked ??= createMarkedIcon()
  const href = isMarked ? await marked! : plain
  // `isMarked` may have changed again meanwhile.
  if (link.dataset.marked === String(isMarked) && link.getAttribute('href') !== href) link.href = href
}

/** Adds the dot to the icon of the page, which comes from the server or from the cache of the service worker. */
async function createMarkedIcon(): Promise<string> {
  try {
    const icon = await (await fetch(svg)).text()
    return URL.createObjectURL(new Blob([icon.replace('</svg>', `${dot}</svg>`)], { type: 'image/svg+xml' }))
  } catch {
    // Without a network the icon does not change, and is requested again the next time.
    marked = undefined
    return plain
  }
}
