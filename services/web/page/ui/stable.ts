import { useCallback, useRef } from 'preact/hooks'

/** The same function as long as the component is there, which calls the newest one: what is given it is not drawn again because of it. */
export function useStable<Arguments extends unknown[], Answer>(call: (...given: Arguments) => Answer) {
  const newest = useRef(call)
  newest.current = call
  return useCallback((...given: Arguments): Answer => newest.current(...given), [])
}
