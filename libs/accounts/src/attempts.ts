import type { Reader, Transaction } from '@parley/database'
import { sql } from 'kysely'

/** The largest number of attempts of a subject within a time window: 15 minutes unless given, an hour at most. */
export interface AttemptLimit {
  kind: string
  most: number
  windowMs?: number
}

const quarterHourMs = 900_000

/** The subject of limits that count the attempts of everybody together. */
export const everybody = 'server'

/**
 * `seconds` is 0 when the attempt was counted, and `count` is then its number in the window. Otherwise `seconds` is the
 * time until the next attempt is possible.
 */
export type Counted = { seconds: 0; count: number } | { seconds: number; count?: undefined }

/**
 * Counts an attempt, unless the limit of the window is reached. The count is exact, because concurrent attempts wait
 * for the lock of the subject's row, which a transaction holds until its end. `account` is the account of the attempts,
 * by which `clearAttemptsOfAccount` finds them.
 */
export async function tryAttempt(
  db: Reader,
  limit: AttemptLimit,
  { subject, account, now }: { subject: string; account?: string; now: number },
): Promise<Counted> {
  const { windowMs = quarterHourMs } = limit
  const counted = await sql<{ count: number }>`
    insert into attempts as known (kind, subject, account, attempted_at, last_attempt_at)
    values (${limit.kind}, ${subject}, ${account ?? null}, array[${now}::bigint], ${now})
    on conflict (kind, subject) do update
    set attempted_at =
          array(select moment from unnest(known.attempted_at) moment where moment > ${now - windowMs} order by moment)
          || ${now}::bigint,
        last_attempt_at = ${now}
    where (select count(*) from unnest(known.attempted_at) moment where moment > ${now - windowMs}) < ${limit.most}
    returning cardinality(attempted_at) as count`.execute(db)
  const [row] = counted.rows
  return row ? { seconds: 0, count: row.count } : { seconds: Math.max(1, await findWait(db, limit, subject, now)) }
}

/** As `tryAttempt`, but returns only the seconds. */
export const countAttempt = async (db: Reader, limit: AttemptLimit, subject: string, now: number): Promise<number> =>
  (await tryAttempt(db, limit, { subject, now })).seconds

/** The seconds until the next attempt is possible; 0 when one is possible now. */
export async function findWait(db: Reader, limit: AttemptLimit, subject: string, now: number): Promise<number> {
  const { windowMs = quarterHourMs } = limit
  const known = await db
    .selectFrom('attempts')
    .select('attemptedAt')
    .where('kind', '=', limit.kind)
    .where('subject', '=', subject)
    .executeTakeFirst()
  const counting = (known?.attemptedAt ?? []).filter((at) => at > now - windowMs).sort((one, other) => one - other)
  if (counting.length < limit.most) return 0
  const waitMs = counting[counting.length - limit.most]! + windowMs - now
  // Concurrent attempts may be counted in another order than they arrived, so an attempt may find later ones.
  return Math.max(1, Math.ceil(Math.min(waitMs, windowMs) / 1000))
}

/**
 * Deletes all attempts of this account. The rows are locked in the order of kind and subject. Code that counts several
 * attempts in one transaction must use this order too, to prevent deadlocks. Served by the index attempts_of_account.
 */
export async function clearAttemptsOfAccount(trx: Transaction, account: string): Promise<void> {
  const ofAccount = trx.selectFrom('attempts').select('kind').where('account', '=', account)
  await ofAccount.orderBy('kind').orderBy('subject').forUpdate().execute()
  await trx.deleteFrom('attempts').where('account', '=', account).execute()
}
