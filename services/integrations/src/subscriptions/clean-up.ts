import type { Database } from '@parley/database'
import type { Logger } from '@parley/telemetry'
import { deleteOldResponses } from '../apps/apps.queries.ts'
import { deleteOldDeliveries } from './subscriptions.queries.ts'

export interface CleanUpParts {
  db: Database
  clock: () => number
  logger: Logger
}

const hourMs = 3_600_000
/** Deliveries are listed for this time. */
const listedMs = 7 * 24 * hourMs

/** The hourly deletion of old rows. Delivery does not wait for it. */
export function createCleanUp({ db, clock, logger }: CleanUpParts, stopping: AbortSignal) {
  let startedAt = Number.NEGATIVE_INFINITY
  let running: Promise<void> | undefined

  async function cleanUp(now: number) {
    await run('deliveries', () => deleteOldDeliveries(db, now - listedMs))
    await run('responses', () => deleteOldResponses(db, now))
  }

  /** Deletes one batch after the other, because a long statement would be aborted and would hold its locks until its end. */
  async function run(step: string, deleteBatch: () => Promise<{ isMore: boolean }>) {
    try {
      while (!stopping.aborted && (await deleteBatch()).isMore);
    } catch (err) {
      logger.warn({ err, step }, 'a step of the clean-up failed; it will be tried again in an hour')
    }
  }

  return {
    /** Starts it when the last one began an hour ago and has ended. */
    startIfDue() {
      if (running || clock() - startedAt < hourMs) return
      startedAt = clock()
      running = cleanUp(startedAt).finally(() => {
        running = undefined
      })
    },
    /** Resolves when the clean-up that runs has ended. After `stopping` it ends with its current batch. */
    ended: async () => running,
  }
}
