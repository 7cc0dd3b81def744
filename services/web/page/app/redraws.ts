import { batch } from '@preact/signals'

/** Somebody whose last character is so old is no longer typing. */
const typingMs = 1_000
/** However slow the machine is, what has come is drawn after so long. */
const longestPauseMs = 250
/** While somebody types, the page pauses so many times as long as the last redraw took. */
const pausePerWork = 3

/**
 * Decides when the page is drawn again because of an event: at once, unless somebody is typing a text. While somebody
 * types, their characters come first: each redraw follows the last one after a pause, which is longer on a slower machine.
 */
export function createRedraws() {
  let typedAt = -Infinity
  const onInput = () => {
    typedAt = performance.now()
  }
  const onKey = ({ key }: KeyboardEvent) => {
    if (key === 'Enter') typedAt = -Infinity
  }
  addEventListener('input', onInput, true)
  addEventListener('keydown', onKey, true)
  const waiting = new Set<() => void>()
  let pausesUntil = 0
  /** What was drawn is not painted yet. */
  let isPainting = false
  let timer: ReturnType<typeof setTimeout> | undefined

  function flush() {
    clearTimeout(timer)
    timer = undefined
    if (waiting.size === 0) return
    const begun = performance.now()
    const redraws = [...waiting]
    waiting.clear()
    // As long as nobody knows how long this redraw takes, the pause is the longest one.
    pausesUntil = begun + longestPauseMs
    batch(() => {
      for (const redraw of redraws) redraw()
    })
    if (isPainting) return
    isPainting = true
    afterPaint(() => {
      isPainting = false
      const painted = performance.now()
      pausesUntil = painted + Math.min(longestPauseMs, pausePerWork * (painted - begun))
      if (timer !== undefined) flushAfterPause()
    })
  }

  function flushAfterPause() {
    clearTimeout(timer)
    timer = setTimeout(flush, Math.max(0, pausesUntil - performance.now()))
  }

  return {
    /** Calls this back now, or soon together with others. */
    add(redraw: () => void) {
      waiting.add(redraw)
      const now = performance.now()
      const isTyping = now < typedAt + typingMs
      if (!isTyping || now >= pausesUntil) flush()
      else if (timer === undefined) flushAfterPause()
    },
    /** Runs all waiting redraws now: the person has done something and wants to see it. */
    flush,
    close() {
      removeEventListener('input', onInput, true)
      removeEventListener('keydown', onKey, true)
      clearTimeout(timer)
      waiting.clear()
    },
  }
}

function afterPaint(call: () => void) {
  // A hidden page paints nothing.
  if (document.hidden) return void setTimeout(call)
  requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      call()
    }
    port2.postMessage(null)
  })
}
