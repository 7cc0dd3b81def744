const latestMs = 500
/** For Safari, which has no idle callbacks. */
const pauseMs = 50

/** Calls back when the browser has nothing else to do, soon in any case, unless the answered function was called before. */
export function whenIdle(call: () => void): () => void {
  if (typeof requestIdleCallback === 'undefined') {
    const timer = setTimeout(call, pauseMs)
    return () => clearTimeout(timer)
  }
  const handle = requestIdleCallback(call, { timeout: latestMs })
  return () => cancelIdleCallback(handle)
}
