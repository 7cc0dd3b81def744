import { RequestFailed } from '@parley/client'
import { type Signal, signal } from '@preact/signals'
import { isTemporary, pauseAfter } from '../ui/problems.ts'

interface CachedReply<T> {
  /** A new object makes the components that read it render again. */
  reply: Signal<{ value: T | undefined }>
  isRequested: boolean
  failures: number
  timer?: ReturnType<typeof setTimeout>
}

/**
 * A cache of replies by key. The first read of a key sends the request. The value is undefined until the reply comes, and when the
 * server refuses the request. After any other failure, the next read sends the request again. The components that read the key render
 * again after a pause that grows with each failure.
 */
export function createReplyCache<T>() {
  const cache = new Map<string, CachedReply<T>>()

  function request(cached: CachedReply<T>, fetchReply: () => Promise<T>) {
    cached.isRequested = true
    clearTimeout(cached.timer)
    fetchReply().then(
      (value) => {
        cached.reply.value = { value }
      },
      (error) => {
        if (!(error instanceof RequestFailed)) throw error
        if (!isTemporary(error)) return
        cached.isRequested = false
        cached.timer = setTimeout(
          () => {
            cached.reply.value = { value: undefined }
          },
          pauseAfter(++cached.failures),
        )
      },
    )
  }

  return (key: string, fetchReply: () => Promise<T>): T | undefined => {
    const cached = cache.get(key) ?? { reply: signal({ value: undefined }), isRequested: false, failures: 0 }
    cache.set(key, cached)
    if (!cached.isRequested) request(cached, fetchReply)
    return cached.reply.value.value
  }
}
