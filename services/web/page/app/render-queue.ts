import { batch } from '@preact/signals'

/** The person counts as typing for this time after each character. */
const typingMs = 1_000
/** The longest pause between two renders, even on a slow machine. */
const maxPauseMs = 250
/** The longest time that a press holds renders back. A person may keep the button pressed, for example to select text. */
const maxPressMs = 500
/** While the person types, the pause after a render is this many times as long as the render took. */
const pausePerWork = 3

export type RenderQueue = ReturnType<typeof createRenderQueue>

/**
 * Decides when the page renders changes from events. It renders immediately, unless the person is typing or presses something. While they
 * type, there is a pause between two renders, so that the typed characters appear without delay. The pause is longer on a slower machine.
 * What they press does not move before they release it: otherwise there would be no click.
 */
export function createRenderQueue() {
  let typedAt = -Infinity
  const onInput = () => {
    typedAt = performance.now()
  }
  const onKey = ({ key }: KeyboardEvent) => {
    if (key === 'Enter') typedAt = -Infinity
  }
  let pressedUntil = -Infinity
  const onPress = () => {
    pressedUntil = performance.now() + maxPressMs
  }
  const onRelease = () => {
    pressedUntil = -Infinity
    // The click comes immediately after this event.
    setTimeout(flush)
  }
  const listening = new AbortController()
  const options = { capture: true, signal: listening.signal }
  addEventListener('input', onInput, options)
  addEventListener('keydown', onKey, options)
  addEventListener('pointerdown', onPress, options)
  for (const type of ['pointerup', 'pointercancel']) addEventListener(type, onRelease, options)
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
      if (timer !== undefined) flushWhenAllowed()
    })
  }

  /** Runs the waiting renders now or after the pause. */
  function flushWhenAllowed() {
    clearTimeout(timer)
    const now = performance.now()
    const isTyping = now < typedAt + typingMs
    const pauseMs = Math.max(pressedUntil, isTyping ? pausesUntil : 0) - now
    if (pauseMs <= 0) flush()
    else timer = setTimeout(flushWhenAllowed, pauseMs)
  }

  return {
    /** Calls `render` now, or after the pause together with others. */
    add(render: () => void) {
      waiting.add(render)
      flushWhenAllowed()
    },
    /** Runs all waiting renders now, so that the person sees the effect of their action. */
    flush,
    close() {
      listening.abort()
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
