import type { Signal } from '@preact/signals'

/** Fast scrolling has ended when the list was not scrolled for this time. */
const endMs = 100
/** Scrolling by more than the height of the viewport within this time is fast scrolling. */
const fastMs = 150

/** Measures how fast the person scrolls. It sets `isFast`, and calls `onSlow` when fast scrolling has ended. */
export function createScrollSpeed(isFast: Signal<boolean>, onSlow: () => void) {
  let moves: { at: number; px: number }[] = []
  let timer: ReturnType<typeof setTimeout> | undefined

  /** The distance that was scrolled within `fastMs`, in pixels. A single jump, such as to the end, does not count. */
  function scrolledPx(): number {
    const since = performance.now() - fastMs
    const recent = moves.filter(({ at }) => at > since)
    return recent.length < 2 ? 0 : Math.abs(recent.reduce((sum, { px }) => sum + px, 0))
  }

  function end() {
    moves = []
    isFast.value = false
    onSlow()
  }

  return {
    scrolledPx,
    /** Records that the person has scrolled by `px`. */
    record(px: number, viewportPx: number) {
      const at = performance.now()
      moves = [...moves.filter((move) => move.at > at - fastMs), { at, px }]
      isFast.value = scrolledPx() > viewportPx
      clearTimeout(timer)
      if (isFast.value) timer = setTimeout(end, endMs)
    },
    close: () => clearTimeout(timer),
  }
}
