import { type ApiError, unavailable } from '@parley/contract'
import { type Database, isOutOfTime, type Reader } from '@parley/database'
import { sql } from 'kysely'
import { type Beginning, beginSearch } from './search.queries.ts'

export interface SnapshotLimits {
  /** The number of messages outside the projection that one statement compares. */
  portion: number
  /** A search is stopped after this number of milliseconds. */
  timeoutMs: number
  /** This limit applies while the projection lacks more than `portion` messages, because scanning them takes longer. */
  longTimeoutMs: number
}

/** Limits the next statement to the time that is left. @throws ApiError 503 when no time is left. */
export type RequireTime = (late?: () => ApiError) => Promise<void>

/**
 * Runs several statements in one snapshot. The first one, `beginSearch`, takes the snapshot and reads which messages the
 * projection lacks. The outbox is locked before it, because truncating the outbox under the snapshot would hide its
 * events. The lock is released right after it, so that a slow search does not delay truncating the outbox. The settings
 * stop the planner from scanning a whole table instead of an index, and from planning each search again.
 */
export function inSnapshot<T>(
  db: Database,
  text: string,
  { portion, timeoutMs, longTimeoutMs }: SnapshotLimits,
  work: (snapshot: Reader, beginning: Beginning, requireTime: RequireTime) => Promise<T>,
): Promise<T> {
  const begunAt = performance.now()
  // All of it takes one round trip. Kysely's own transactions would take several.
  const begin = sql.raw(
    `begin isolation level repeatable read read only;
     set local statement_timeout = ${longTimeoutMs};
     set local enable_seqscan = off; set local enable_bitmapscan = on; set local jit = off;
     set local plan_cache_mode = force_generic_plan;
     savepoint outbox; lock table outbox in access share mode`,
  )
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const done = db.connection().execute(async (snapshot) => {
    try {
      await begin.execute(snapshot)
      const beginning = await beginSearch(snapshot, text)
      // This releases the lock, and keeps the snapshot.
      await sql`rollback to savepoint outbox`.execute(snapshot)
      const isFarBehind = beginning.unseenIds.length > portion || beginning.unreadBelow !== null
      const allowedMs = isFarBehind ? longTimeoutMs : timeoutMs
      const requireTime = limitTime(snapshot, { longTimeoutMs, endsAt: begunAt + allowedMs })
      // The response does not wait for the commit, because nothing was changed.
      resolve(await work(snapshot, beginning, requireTime))
      await sql`commit`.execute(snapshot)
    } catch (error) {
      await sql`rollback`.execute(snapshot)
      throw isOutOfTime(error) ? tooSlow() : error
    }
  })
  done.catch(reject)
  return promise
}

/**
 * Limits the total time of all statements of a transaction, which has the limit `longTimeoutMs` already. The limit is set again only when it
 * changes by more than a tenth.
 */
function limitTime(
  snapshot: Reader,
  { longTimeoutMs, endsAt }: { longTimeoutMs: number; endsAt: number },
): RequireTime {
  /** The limit that the transaction has now. */
  let allowedMs = longTimeoutMs
  return async (late = tooSlow) => {
    const leftMs = Math.floor(endsAt - performance.now())
    if (leftMs < 1) throw late()
    if (leftMs > 0.9 * allowedMs) return
    await sql`select set_config('statement_timeout', ${String(leftMs)}, true)`.execute(snapshot)
    allowedMs = leftMs
  }
}

const tooSlow = () => unavailable('This search takes too long. Please use a longer text, or search in one channel', 5)
export const catchingUp = () => unavailable('Search is not up to date yet. Please try again', 30)
