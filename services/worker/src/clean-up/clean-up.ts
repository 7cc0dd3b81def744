import { avatarKeys, type BlobStore, thumbnailKey } from '@parley/blobs'
import { type Database, isDatabaseUnavailable, recordJob, type Transaction } from '@parley/database'
import type { Logger } from '@parley/telemetry'
import { sql } from 'kysely'
import { deleteOldExports } from '../exports/compute-export.ts'
import { type Repeated, repeat } from '../repeat.ts'
import {
  deleteConsumersOfRemoved,
  deleteDeadJobs,
  deleteOldAttempts,
  deleteOldDeliveries,
  deleteOldIdempotencyKeys,
  deleteOldLinkPreviews,
  deleteOldLinks,
  deleteOldMemberships,
  deleteOldResponses,
  deleteOldSessions,
  deleteSubscriptionsOfRemoved,
} from './clean-up.queries.ts'

interface CleanUpOptions {
  db: Database
  blobs: BlobStore
  logger: Logger
  clock: () => number
  /** How long events are kept for consumers. */
  keepMs?: number
}

const hourMs = 3_600_000
const idempotencyMs = 24 * hourMs
/** Ended sessions are kept for a while, so that the late use of an old refresh token is recognised. */
const sessionsMs = 30 * 24 * hourMs
/** The longest window in which attempts count is an hour. */
const attemptsMs = hourMs
/** Added to the time for which events are kept, because replayed events of a deleted channel are for its former members. */
const membershipsMs = 24 * hourMs
/** Deliveries of event subscriptions are listed for this time. */
const deliveriesMs = 7 * 24 * hourMs
/** Enough time for an operator to find out why mails could not be sent, and to send them again. */
const deadJobsMs = 30 * 24 * hourMs
/** The time for which an unattached upload is kept. */
const idleUploadsMs = 24 * hourMs
/** The worker encodes an avatar within minutes. An older one could not be stored or encoded. */
const pendingAvatarsMs = 24 * hourMs

/**
 * Removes rows and bytes that are not needed any more. A step that fails does not prevent the others. Several workers may
 * do it at the same time.
 * @throws when the database is unavailable.
 */
export async function cleanUp({ db, blobs, logger, clock, keepMs = 0 }: CleanUpOptions): Promise<void> {
  const now = clock()
  const steps: Record<string, () => Promise<number>> = {
    idempotencyKeys: () => deleteOldIdempotencyKeys(db, now - idempotencyMs),
    sessions: () => deleteOldSessions(db, now - sessionsMs),
    links: () => deleteOldLinks(db, now),
    linkPreviews: () => deleteOldLinkPreviews(db, now),
    attempts: () => deleteOldAttempts(db, now - attemptsMs),
    memberships: () => deleteOldMemberships(db, now - membershipsMs - keepMs),
    consumers: () => deleteConsumersOfRemoved(db),
    subscriptions: () => deleteSubscriptionsOfRemoved(db, now),
    deliveries: () => deleteOldDeliveries(db, now - deliveriesMs),
    responses: () => deleteOldResponses(db, now),
    deadJobs: () => deleteDeadJobs(db, now - deadJobsMs),
    exports: () => deleteOldExports(db, now),
    uploads: () => deleteIdleUploads(db, now - idleUploadsMs),
    avatars: () => deleteUnusedAvatars(db, now - pendingAvatarsMs),
    blobsBegun: () => blobs.sweep(idleUploadsMs),
  }
  const deleted: Record<string, number> = {}
  for (const [step, run] of Object.entries(steps)) {
    try {
      deleted[step] = await run()
    } catch (err) {
      if (isDatabaseUnavailable(err)) throw err
      logger.error({ err, step }, 'a step of the clean-up failed, will try again')
    }
  }
  logger.info(deleted, 'cleaned up')
}

/** Cleans up now and about every hour. The interval varies at random by some minutes, so that replicas do not run at the same time. */
export const startCleanUp = (options: CleanUpOptions): Repeated =>
  repeat(() => cleanUp(options), {
    pauseMs: () => hourMs * (0.9 + 0.2 * Math.random()),
    logger: options.logger,
    failure: 'could not clean up, will try again',
  })

const uploadBatchSize = 500

/**
 * Deletes uploads that have been unattached since a moment, and returns their number. The transaction that deletes
 * their rows records the job that deletes their bytes. So after any crash no message has an upload without bytes, and
 * no bytes remain without a row.
 */
async function deleteIdleUploads(db: Database, before: number): Promise<number> {
  for (let total = 0; ; ) {
    const filenames = await db.transaction().execute((trx) => deleteIdleBatch(trx, before))
    total += filenames.length
    if (filenames.length < uploadBatchSize) return total
  }
}

async function deleteIdleBatch(trx: Transaction, before: number): Promise<string[]> {
  const filenames = await deleteIdleRows(trx, before)
  if (filenames.length > 0) {
    await recordJob(trx, 'delete-blobs', { keys: filenames.flatMap((name) => [name, thumbnailKey(name)]) })
  }
  return filenames
}

/** Skips uploads that another transaction attaches to a message and has locked. Served by uploads_idle. */
async function deleteIdleRows(trx: Transaction, before: number): Promise<string[]> {
  const { rows } = await sql<{ filename: string }>`
    delete from uploads where filename in (
      select filename from uploads where idle_since < ${before} order by idle_since limit ${uploadBatchSize} for update skip locked)
    returning filename`.execute(trx)
  return rows.map(({ filename }) => filename)
}

/**
 * Deletes avatars that were uploaded before a moment and are not ready, and those of removed people, which the previous
 * version does not delete. Returns their number. Served by avatars_pending and avatars_of_user.
 */
async function deleteUnusedAvatars(db: Database, before: number): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ version: string }>`
      delete from avatars where version in (
        select version from avatars where ready_at is null and created_at < ${before}
        union all select a.version from users u join avatars a on a.user_id = u.id where u.removed_at is not null)
      returning version`.execute(trx)
    const keys = avatarKeys(rows.map(({ version }) => version))
    if (keys.length > 0) await recordJob(trx, 'delete-blobs', { keys })
    return rows.length
  })
}
