import type { Logger } from './logger.ts'

export interface OutageLog {
  /** `facts` are fields of the line about this failure. */
  failed(error: Error, facts: object): void
}

const usualPauseMs = 10_000

/**
 * Logs failures of which an outage causes very many, such as refused requests. The first failure of each cause is logged as a warning
 * with its facts, and the others only for debugging. Every ten seconds a warning has the number of these others, until there are none.
 */
export function createOutageLog(
  logger: Logger,
  { first, further, pauseMs = usualPauseMs }: { first: string; further: string; pauseMs?: number },
): OutageLog {
  const counts = new Map<string, number>()

  function countNext(cause: string, err: Error) {
    counts.set(cause, 0)
    const report = () => {
      const count = counts.get(cause)!
      counts.delete(cause)
      if (count === 0) return
      logger.warn({ err, count }, further)
      countNext(cause, err)
    }
    setTimeout(report, pauseMs).unref()
  }

  return {
    failed(error, facts) {
      const cause = `${(error as NodeJS.ErrnoException).code} ${error.message}`
      const count = counts.get(cause)
      logger[count === undefined ? 'warn' : 'debug']({ err: error, ...facts }, first)
      if (count === undefined) countNext(cause, error)
      else counts.set(cause, count + 1)
    },
  }
}
