/** Returns a function that runs tasks in the order of its calls, at most `maxRunning` of them at the same time. */
export function createLimiter(maxRunning: number) {
  const waiting: (() => void)[] = []
  let running = 0
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (running < maxRunning) running++
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      // The next task takes the place of this one.
      if (next) next()
      else running--
    }
  }
}
