/**
 * Returns a function that runs pieces of work, at most `most` of them at the same time. Further work waits, and begins in the order of the
 * calls. The result or the error is that of the work.
 */
export function createLimiter(most: number) {
  const waiting: (() => void)[] = []
  let running = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running < most) running++
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      // The next piece of work takes the place of this one.
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
