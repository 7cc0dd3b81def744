import type { JobData } from '@parley/contract'
import { type Database, recordJob } from '@parley/database'
import {
  awaitProjection,
  deletePortion,
  deleteReadStates,
  deleteReplies,
  deleteRest,
  findPortion,
  isDeleted,
  lockDeletedChannel,
} from './purge.queries.ts'

export interface PurgeSizes {
  /** Messages in one transaction. */
  atOnce: number
  /** Transactions in one job: a worker that stops waits for its jobs. */
  portions: number
}

interface Clocked {
  db: Database
  clock: () => number
}

/**
 * Removes for good what was in a deleted channel, in small transactions. It goes as far as one job should and records the
 * next one, which goes on from there; begun anew, or done by two at once, it finds what is left.
 */
export async function purgeChannel(
  { db, clock }: Clocked,
  { channelId, afterSeq = 0 }: JobData<'purge-channel'>,
  { atOnce, portions }: PurgeSizes = { atOnce: 1_000, portions: 100 },
): Promise<void> {
  if (!(await isDeleted(db, channelId))) return
  await awaitProjection(db)
  let reached: number | undefined = afterSeq
  for (let n = 0; n < portions; n++) {
    reached = await purgePortion(db, channelId, { afterSeq: reached, atOnce, now: clock() })
    if (reached === undefined) return purgeRest(db, channelId)
  }
  const data = { channelId, afterSeq: reached }
  await db.transaction().execute((trx) => recordJob(trx, 'purge-channel', data))
}

/**
 * The oldest messages that are left, or, while they have replies, so many of those. Answers the `seq` up to which all are
 * gone: nobody looks through their remains again; undefined when no message is left.
 */
function purgePortion(
  db: Database,
  channelId: string,
  { afterSeq, atOnce, now }: { afterSeq: number; atOnce: number; now: number },
): Promise<number | undefined> {
  return db.transaction().execute(async (trx) => {
    await lockDeletedChannel(trx, channelId)
    const portion = await findPortion(trx, { channelId, afterSeq, limit: atOnce })
    if (portion.length === 0) return undefined

    const ids = portion.map(({ id }) => id)
    if ((await deleteReplies(trx, ids, { limit: atOnce, now })) === atOnce) return afterSeq
    await deletePortion(trx, ids, now)
    return portion.at(-1)!.seq
  })
}

/** What people had read, a thousand people at a time, and the few rows of the channel itself. Its own row stays. */
async function purgeRest(db: Database, channelId: string): Promise<void> {
  let after: string | undefined
  do after = await deleteReadStates(db, { channelId, after, limit: 1_000 })
  while (after !== undefined)
  await db.transaction().execute((trx) => deleteRest(trx, channelId))
}
