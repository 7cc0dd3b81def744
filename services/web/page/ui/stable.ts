import { useCallback, useRef } from 'preact/hooks'

/**
 * A function that stays the same as long as the component exists, and calls the newest `call`. It does not make child components render
 * again.
 */
export function useStable<Arguments extends unknown[], Result>(call: (...given: Arguments) => Result) {
  const newest = useRef(call)
  newest.current = call
  return useCallback((...given: Arguments): Result => newest.current(...given), [])
}
