import { setTimeout as delay } from 'node:timers/promises'
import type { BlobStore } from '@parley/blobs'
import type { Database } from '@parley/database'
import type { Logger } from '@parley/telemetry'
import { deleteOldExports } from '../exports/compute-export.ts'
import {
  deleteDeadJobs,
  deleteOldAttempts,
  deleteOldIdempotencyKeys,
  deleteOldLinks,
  deleteOldMemberships,
  deleteOldSessions,
} from './clean-up.queries.ts'
import { deleteIdleUploads } from './idle-uploads.ts'

export interface CleanUpOptions {
  db: Database
  blobs: BlobStore
  logger: Logger
  clock: () => number
}

const hourMs = 3_600_000
const idempotencyMs = 24 * hourMs
/** Ended sessions stay a while, so that late use of an old refresh token is recognised as such. */
const sessionsMs = 30 * 24 * hourMs
/** The window in which attempts count is 15 minutes. */
const attemptsMs = hourMs
/** Events of a deleted channel are replayed to those who were in it: far longer than any replay window. */
const membershipsMs = 24 * hourMs
/** Long enough to find out why mails could not be sent, and to send them again. */
const deadJobsMs = 30 * 24 * hourMs
/** Time to put an upload on a message, and after it was taken off the last one. */
const idleUploadsMs = 24 * hourMs

/** Removes what nobody needs any more. Several workers may do it at once: what one has deleted the other does not find. */
export async function cleanUp({ db, blobs, logger, clock }: CleanUpOptions): Promise<void> {
  const idempotencyKeys = await deleteOldIdempotencyKeys(db, clock() - idempotencyMs)
  const sessions = await deleteOldSessions(db, clock() - sessionsMs)
  const links = await deleteOldLinks(db, clock())
  const attempts = await deleteOldAttempts(db, clock() - attemptsMs)
  const memberships = await deleteOldMemberships(db, clock() - membershipsMs)
  const deadJobs = await deleteDeadJobs(db, clock() - deadJobsMs)
  const exports = await deleteOldExports(db, clock())
  const uploads = await deleteIdleUploads(db, clock() - idleUploadsMs)
  const blobsBegun = await blobs.sweep(idleUploadsMs)
  const deleted = { idempotencyKeys, sessions, links, attempts, memberships, deadJobs, exports, uploads, blobsBegun }
  logger.info(deleted, 'cleaned up')
}

/** Cleans up now and every hour, give or take some minutes so that replicas do not do it together. */
export function startCleanUp(options: CleanUpOptions): { stop(): Promise<void> } {
  const stopping = new AbortController()

  async function run() {
    while (!stopping.signal.aborted) {
      await cleanUp(options).catch((err) => options.logger.warn({ err }, 'could not clean up, will try again'))
      await delay(hourMs * (0.9 + 0.2 * Math.random()), undefined, { signal: stopping.signal }).catch(() => {})
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
