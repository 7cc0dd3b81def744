import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { attempt } from '../ui/problems.ts'

/**
 * Fetches the list of a page. It is undefined until the first response. `load` fetches it again. An error is shown, and the list stays.
 * A response that comes after the one of a later request is dropped.
 */
export function useListed<T>(fetchList: () => Promise<T>) {
  const listed = useSignal<T | undefined>(undefined)
  const [begun, shown] = [useRef(0), useRef(0)]
  async function load() {
    const number = ++begun.current
    const response = await attempt(fetchList())
    if (response === undefined || number < shown.current) return
    shown.current = number
    listed.value = response
  }
  useEffect(() => void load(), [])
  return { listed, load }
}
