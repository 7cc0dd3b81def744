const steps = 4

/**
 * A signal like that of `AbortSignal.timeout`, for waiting for an answer of another process. Time in which this process could not read the
 * answer (too little processor time, garbage collection, a suspended machine) counts for at most a quarter of the limit, and what has
 * arrived is read before the signal is aborted. So a process that was stopped does not blame the others.
 *
 * @param ms the limit in milliseconds
 */
export function timeoutWhileAwake(ms: number): AbortSignal {
  const controller = new AbortController()
  let left = steps
  const timer = setInterval(() => {
    left--
    if (left > 0) return
    clearInterval(timer)
    // Node reads what has arrived between its timers and its immediates.
    setImmediate(() => controller.abort(new DOMException(`no answer within ${ms} ms`, 'TimeoutError')))
  }, ms / steps)
  timer.unref()
  return controller.signal
}
