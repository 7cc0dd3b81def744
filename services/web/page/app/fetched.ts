import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { attempt } from '../ui/problems.ts'

/**
 * Fetches the data of a page. They are undefined until the first response. `load` fetches them again. An error is shown, and the data stay.
 * A response that comes after the one of a later request is dropped.
 */
export function useFetched<T>(fetchData: () => Promise<T>) {
  const fetched = useSignal<T | undefined>(undefined)
  const requests = useRef(0)
  const shownRequest = useRef(0)
  async function load() {
    const request = ++requests.current
    const response = await attempt(fetchData())
    if (response === undefined || request < shownRequest.current) return
    shownRequest.current = request
    fetched.value = response
  }
  useEffect(() => void load(), [])
  return { fetched, load }
}
