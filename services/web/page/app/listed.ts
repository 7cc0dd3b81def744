import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { attempt } from '../ui/problems.ts'

/** Fetches the list of a page. It is undefined until the first response. `load` fetches it again. An error is shown, and the list stays. */
export function useListed<T>(fetchList: () => Promise<T>) {
  const listed = useSignal<T | undefined>(undefined)
  async function load() {
    const response = await attempt(fetchList())
    if (response !== undefined) listed.value = response
  }
  useEffect(() => void load(), [])
  return { listed, load }
}
