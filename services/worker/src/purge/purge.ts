import type { JobData } from '@parley/contract'
import { type Database, recordJob } from '@parley/database'
import type { Deps } from '@parley/service'
import {
  awaitProjection,
  deleteMessages,
  deleteOtherRows,
  deleteReplies,
  deleteRowsOfPeople,
  isDeleted,
  listMessagesAfter,
  lockDeletedChannel,
} from './purge.queries.ts'

interface PurgeSizes {
  /** Messages in one transaction. */
  batchSize: number
  /** Transactions in one job. The number is limited, because a worker that stops waits for its jobs. */
  batches: number
}

/**
 * Deletes the content of a deleted channel for good, in small transactions. When messages remain after the last
 * transaction of a job, it records a further job that continues there. It may be repeated, and two workers may run it
 * at the same time.
 */
export async function purgeChannel(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { channelId, afterSeq = 0 }: JobData<'purge-channel'>,
  { batchSize, batches }: PurgeSizes = { batchSize: 1_000, batches: 100 },
): Promise<void> {
  if (!(await isDeleted(db, channelId))) return
  await awaitProjection(db)
  let reached: number | undefined = afterSeq
  for (let n = 0; n < batches; n++) {
    reached = await purgeBatch(db, channelId, { afterSeq: reached, batchSize, now: clock() })
    if (reached === undefined) return purgeOtherRows(db, channelId)
  }
  const data = { channelId, afterSeq: reached }
  await db.transaction().execute((trx) => recordJob(trx, 'purge-channel', data))
}

/**
 * Deletes the oldest remaining messages. While they have replies, it deletes up to `batchSize` replies instead. Returns
 * the `seq` up to which all messages are deleted, where the next batch starts; undefined when no message remains.
 */
function purgeBatch(
  db: Database,
  channelId: string,
  { afterSeq, batchSize, now }: { afterSeq: number; batchSize: number; now: number },
): Promise<number | undefined> {
  return db.transaction().execute(async (trx) => {
    await lockDeletedChannel(trx, channelId)
    const batch = await listMessagesAfter(trx, { channelId, afterSeq, limit: batchSize })
    if (batch.length === 0) return undefined

    const ids = batch.map(({ id }) => id)
    if ((await deleteReplies(trx, ids, { limit: batchSize, now })) === batchSize) return afterSeq
    await deleteMessages(trx, ids, now)
    return batch.at(-1)!.seq
  })
}

/** Deletes the read states, a thousand people at a time, and the few other rows of the channel. The channel's own row stays. */
async function purgeOtherRows(db: Database, channelId: string): Promise<void> {
  let after: string | undefined
  do after = await deleteRowsOfPeople(db, { channelId, after, limit: 1_000 })
  while (after !== undefined)
  await db.transaction().execute((trx) => deleteOtherRows(trx, channelId))
}
