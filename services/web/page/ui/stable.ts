import { useCallback, useRef } from 'preact/hooks'

/**
 * A function that stays the same for the life of the component and calls the newest `call`. A child that gets it is not
 * drawn again because of it.
 */
export function useStable<Arguments extends unknown[], Answer>(call: (...given: Arguments) => Answer) {
  const newest = useRef(call)
  newest.current = call
  return useCallback((...given: Arguments): Answer => newest.current(...given), [])
}
