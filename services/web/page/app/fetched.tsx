import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { showFailure, textOf } from '../ui/problems.ts'

/**
 * Fetches the data of a page. They are undefined until the first response. `load` fetches them again. When that fails, the error is shown,
 * and the data stay. Without data, `NotFetched` shows the error. A response that comes after the one of a later request is dropped, and so
 * is the result undefined.
 */
export function useFetched<T>(fetchData: () => Promise<T | undefined>) {
  const fetched = useSignal<T | undefined>(undefined)
  /** Why there are no data yet. */
  const failure = useSignal<string | null>(null)
  const requests = useRef(0)
  const shownRequest = useRef(0)
  async function load() {
    const request = ++requests.current
    failure.value = null
    try {
      const response = await fetchData()
      if (response === undefined || request < shownRequest.current) return
      shownRequest.current = request
      fetched.value = response
    } catch (error) {
      if (fetched.value !== undefined) showFailure(error)
      else if (request === requests.current) failure.value = textOf(error)
    }
  }
  useEffect(() => void load(), [])
  return { fetched, failure, load }
}

type Fetched = Pick<ReturnType<typeof useFetched>, 'fetched' | 'failure' | 'load'>

/** Shown instead of data that are not there yet: that they are being fetched, or why they could not be, with a button to try again. */
export function NotFetched({ of: { fetched, failure, load } }: { of: Fetched }) {
  if (fetched.value !== undefined) return null
  if (failure.value === null) return <section aria-busy="true" />
  return (
    <div class="alert" role="alert">
      <span>{failure.value}</span>
      <button type="button" class="link-button" onClick={() => void load()}>
        {t('Try again')}
      </button>
    </div>
  )
}
