export interface Backoff {
  /** Milliseconds for the first repetition, at most. */
  firstMs: number
  /** Milliseconds for any repetition, at most. */
  mostMs: number
}

/**
 * How long to wait before repetition number `attempt` (0 is the first), in milliseconds: a random time below a bound
 * that doubles with each attempt ("full jitter"). So many clients that failed together come back at different times.
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export const jittered = (attempt: number, { firstMs, mostMs }: Backoff): number =>
  Math.random() * Math.min(mostMs, firstMs * 2 ** attempt)

/** Resolves after so many milliseconds, or as soon as `signal` says so. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const finish = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, milliseconds)
    signal?.addEventListener('abort', finish)
  })
}
