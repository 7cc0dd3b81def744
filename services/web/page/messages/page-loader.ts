import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { ignoreFailure, pauseAfter } from '../ui/problems.ts'

/**
 * Loads the pages beside a list of messages, one at a time. After a failure, it calls `onRetry` after a pause that grows with each failure,
 * and when the connection is back.
 */
export function usePageLoader({ connection }: Workspace, onRetry: () => void) {
  const isFetching = useSignal(false)
  const failures = useSignal(0)
  useEffect(() => {
    if (connection.value !== 'lost') onRetry()
  }, [connection.value])
  useEffect(() => {
    if (failures.value === 0) return
    const timer = setTimeout(onRetry, pauseAfter(failures.value))
    return () => clearTimeout(timer)
  }, [failures.value])

  return {
    isFetching,
    hasFailed: failures.value > 0,
    /** `load` is undefined when no page is needed. During the pause after a failure, only a retry loads a page. */
    async load(load: (() => Promise<unknown>) | undefined, isRetry: boolean) {
      if (!load) failures.value = 0
      if (!load || isFetching.value || (failures.value > 0 && !isRetry)) return
      isFetching.value = true
      try {
        await load()
        failures.value = 0
      } catch (error) {
        ignoreFailure(error)
        failures.value++
      } finally {
        isFetching.value = false
      }
    },
  }
}
