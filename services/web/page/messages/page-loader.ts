import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { announce } from '../ui/announced.ts'
import { ignoreFailure, pauseAfter } from '../ui/retries.ts'

export const failureText = () => t('Messages could not be loaded. Try again')

/**
 * Loads the pages beside a list of messages, one at a time. After a failure, it calls `onRetry` after a pause that grows with each failure,
 * and when the connection is back.
 */
export function usePageLoader({ connection }: Workspace, onRetry: () => void) {
  const isFetching = useSignal(false)
  const failures = useSignal(0)
  /** Whether the person has pressed the button. Then screen readers announce every failure, otherwise only the first one. */
  const isByPerson = useRef(false)
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
    /** For the button. */
    retry() {
      isByPerson.current = true
      onRetry()
    },
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
        if (failures.value++ === 0 || isByPerson.current) announce(failureText())
      } finally {
        isByPerson.current = false
        isFetching.value = false
      }
    },
  }
}
