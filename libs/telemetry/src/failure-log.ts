import type { Logger } from './logger.ts'

export interface FailureLog {
  /** `facts` are further fields of the line. */
  failed(error: unknown, level?: 'warn' | 'error', facts?: object): void
  succeeded(): void
}

/**
 * Logs the failures of work that is tried again until it succeeds: the first failure, and each one with another cause than the one
 * before. So an outage of hours adds a few lines to the log. With `recovered`, the first success after a failure is logged too.
 */
export function createFailureLog(
  logger: Logger,
  message: string,
  { recovered }: { recovered?: string } = {},
): FailureLog {
  let lastCause: string | undefined
  return {
    failed(error, level = 'warn', facts = {}) {
      const cause = causeOf(error)
      if (cause !== lastCause) logger[level]({ err: error, ...facts }, message)
      lastCause = cause
    },
    succeeded() {
      if (recovered !== undefined && lastCause !== undefined) logger.info(recovered)
      lastCause = undefined
    },
  }
}

const causeOf = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}
