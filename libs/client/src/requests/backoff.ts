export interface Backoff {
  /** The longest pause before the first retry, in milliseconds. */
  firstMs: number
  /** The longest pause before any retry, in milliseconds. */
  maxMs: number
}

/** The pauses of work that the client repeats until it succeeds, such as loading messages and sending the outbox. */
export const usualBackoff: Backoff = { firstMs: 500, maxMs: 15_000 }

/**
 * The pause before retry number `retry` (0 is the first), in milliseconds. It is random, below a bound that doubles with each retry
 * ("full jitter"). So clients that failed at the same time retry at different times.
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export const jittered = (retry: number, { firstMs, maxMs }: Backoff): number =>
  Math.random() * Math.min(maxMs, firstMs * 2 ** retry)

/** Resolves after this time, or when `signal` aborts. */
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
