import { RequestFailed } from '@parley/client'
import { type Signal, signal } from '@preact/signals'
import { isTemporary, pauseAfter } from '../ui/retries.ts'

interface CachedResponse<T> {
  /** A new object makes the components that read it render again. */
  response: Signal<{ value: T | undefined }>
  isRequested: boolean
  failures: number
  timer?: ReturnType<typeof setTimeout>
}

/**
 * A cache of responses by key. The first read of a key sends the request. The value is undefined until the response comes, and when the
 * server refuses the request. After any other failure, the next read sends the request again. The components that read the key render
 * again after a pause that grows with each failure.
 */
export function createResponseCache<T>() {
  const cache = new Map<string, CachedResponse<T>>()

  function request(cached: CachedResponse<T>, fetchResponse: () => Promise<T>) {
    cached.isRequested = true
    clearTimeout(cached.timer)
    fetchResponse().then(
      (value) => {
        cached.response.value = { value }
      },
      (error) => {
        if (!(error instanceof RequestFailed)) throw error
        if (!isTemporary(error)) return
        cached.isRequested = false
        cached.timer = setTimeout(
          () => {
            cached.response.value = { value: undefined }
          },
          pauseAfter(++cached.failures),
        )
      },
    )
  }

  return (key: string, fetchResponse: () => Promise<T>): T | undefined => {
    const cached = cache.get(key) ?? { response: signal({ value: undefined }), isRequested: false, failures: 0 }
    cache.set(key, cached)
    if (!cached.isRequested) request(cached, fetchResponse)
    return cached.response.value.value
  }
}
