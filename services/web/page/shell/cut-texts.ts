/** The names and topics that are cut when there is no space for them. */
const cutTexts =
  '.nav-link > .name, .main-head > :is(h1, .topic), .server-name, .panel > header > .quiet, .file > .name'

/** A tooltip shows the whole text when the pointer is on a text that is cut. */
export function showCutTexts(): () => void {
  const onPointerOver = ({ target }: PointerEvent) => {
    // A topic has links.
    const element = (target as HTMLElement).closest<HTMLElement>(cutTexts)
    if (!element) return
    if (element.scrollWidth > element.clientWidth) element.title = element.textContent
    else element.removeAttribute('title')
  }
  document.addEventListener('pointerover', onPointerOver)
  return () => document.removeEventListener('pointerover', onPointerOver)
}
