import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { attempt } from '../ui/problems.ts'

/** What a page lists: undefined until the server has answered. `load` asks again; a refusal is shown and leaves what was there. */
export function useListed<T>(ask: () => Promise<T>) {
  const listed = useSignal<T | undefined>(undefined)
  async function load() {
    const answer = await attempt(ask())
    if (answer !== undefined) listed.value = answer
  }
  useEffect(() => void load(), [])
  return { listed, load }
}
