const latestMs = 500
/** The pause in Safari, which has no idle callbacks. */
const pauseMs = 50

/** Calls `call` when the browser is idle, but after `latestMs` at the latest. The returned function cancels it. */
export function whenIdle(call: () => void): () => void {
  if (typeof requestIdleCallback === 'undefined') {
    const timer = setTimeout(call, pauseMs)
    return () => clearTimeout(timer)
  }
  const handle = requestIdleCallback(call, { timeout: latestMs })
  return () => cancelIdleCallback(handle)
}
