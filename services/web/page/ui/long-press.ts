/** A little longer than the time after which Android opens the menu itself. */
const longPressMs = 600
/** A finger that moves farther scrolls. */
const maxMovePx = 10

/**
 * Calls `open` with the element on which a finger stays. Browsers on iPhones have no event `contextmenu`. Where they have it, it ends the press.
 * When `open` returns true, the end of the press is no click. Returns a function that ends it.
 */
export function onLongPress(open: (target: EventTarget | null) => boolean): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let begin = { x: 0, y: 0 }
  let isOpened = false
  const stop = () => clearTimeout(timer)
  const listeners = new AbortController()
  const listen = <Type extends keyof DocumentEventMap>(type: Type, on: (event: DocumentEventMap[Type]) => void) =>
    document.addEventListener(type, on, { signal: listeners.signal, capture: true })

  listen('pointerdown', ({ target, pointerType, isPrimary, clientX, clientY }) => {
    stop()
    isOpened = false
    if (pointerType !== 'touch' || !isPrimary) return
    begin = { x: clientX, y: clientY }
    timer = setTimeout(() => {
      isOpened = open(target)
    }, longPressMs)
  })
  listen('pointermove', ({ clientX, clientY }) => {
    if (Math.hypot(clientX - begin.x, clientY - begin.y) > maxMovePx) stop()
  })
  for (const type of ['pointerup', 'pointercancel', 'contextmenu'] as const) listen(type, stop)
  listen('click', (event) => {
    // A click by keyboard or by a script has no detail.
    if (!isOpened || event.detail === 0) return
    isOpened = false
    event.preventDefault()
    event.stopPropagation()
  })
  return () => {
    stop()
    listeners.abort()
  }
}
