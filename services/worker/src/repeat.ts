import { setTimeout as delay } from 'node:timers/promises'
import { isDatabaseUnavailable, isOutOfTime } from '@parley/database'
import type { Logger } from '@parley/telemetry'

export interface Repeated {
  /** Stops. Resolves once the current work has ended. */
  stop(): Promise<void>
}

interface RepeatOptions {
  /** Milliseconds between the end of one run and the beginning of the next. */
  pauseMs: number | (() => number)
  logger: Logger
  /** The log message of a failure. Nothing is logged while PostgreSQL is unavailable, because everything fails then. */
  failure: string
}

/**
 * Runs `work` now and again after each pause, until it is stopped. A failure does not end the repetition. `stopping` is
 * aborted when the work should end early.
 */
export function repeat(
  work: (stopping: AbortSignal) => Promise<void>,
  { pauseMs, logger, failure }: RepeatOptions,
): Repeated {
  const stopping = new AbortController()
  const { signal } = stopping

  async function run() {
    while (!signal.aborted) {
      try {
        await work(signal)
      } catch (err) {
        if (!isDatabaseUnavailable(err) || isOutOfTime(err)) logger.error({ err }, failure)
      }
      const ms = typeof pauseMs === 'number' ? pauseMs : pauseMs()
      await delay(ms, undefined, { signal }).catch(() => {})
    }
  }
  const running = run()

  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}
