import { batch } from '@preact/signals'

/** The person counts as typing for this time after each character. */
const typingMs = 1_000
/** The longest pause between two renders, even on a slow machine. */
const maxPauseMs = 250
/** While the person types, the pause after a render is this many times as long as the render took. */
const pausePerWork = 3

export type RenderQueue = ReturnType<typeof createRenderQueue>

/**
 * Decides when the page renders changes from events. It renders immediately, unless the person is typing. While they type, there is a
 * pause between two renders, so that the typed characters appear without delay. The pause is longer on a slower machine.
 */
export function createRenderQueue() {
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
  /** Whether the browser has not painted the last render yet. */
  let isPainting = false
  let timer: ReturnType<typeof setTimeout> | undefined

  function flush() {
    clearTimeout(timer)
    timer = undefined
    if (waiting.size === 0) return
    const begun = performance.now()
    const renders = [...waiting]
    waiting.clear()
    // The pause is the longest one until the duration of this render is known.
    pausesUntil = begun + maxPauseMs
    batch(() => {
      for (const render of renders) render()
    })
    if (isPainting) return
    isPainting = true
    afterPaint(() => {
      isPainting = false
      const painted = performance.now()
      pausesUntil = painted + Math.min(maxPauseMs, pausePerWork * (painted - begun))
      if (timer !== undefined) flushAfterPause()
    })
  }

  function flushAfterPause() {
    clearTimeout(timer)
    timer = setTimeout(flush, Math.max(0, pausesUntil - performance.now()))
  }

  return {
    /** Calls `render` now, or after the pause together with others. */
    add(render: () => void) {
      waiting.add(render)
      const now = performance.now()
      const isTyping = now < typedAt + typingMs
      if (!isTyping || now >= pausesUntil) flush()
      else if (timer === undefined) flushAfterPause()
    },
    /** Runs all waiting renders now, so that the person sees the effect of their action. */
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
