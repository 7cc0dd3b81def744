import type { Reader, Transaction } from '@parley/database'
import { sql } from 'kysely'

/** So many attempts of a subject within a time, 15 minutes unless given and at most an hour. */
export interface AttemptLimit {
  kind: string
  most: number
  windowMs?: number
}

const quarterHourMs = 900_000

/** `seconds` is 0 when the attempt was counted, as number `count` within its time; else there may be none before so many seconds. */
export type Counted = { seconds: 0; count: number } | { seconds: number; count?: undefined }

/**
 * Counts an attempt. When there were as many as allowed within its time, it does not count. Exact: attempts at once take turns at
 * the subject's row, until the end of the transaction if there is one. `account` is the account that the attempts are about, by which
 * `clearAttemptsOfAccount` finds them.
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

/** As `tryAttempt`, but answers the seconds alone. */
export const countAttempt = async (db: Reader, limit: AttemptLimit, subject: string, now: number): Promise<number> =>
  (await tryAttempt(db, limit, { subject, now })).seconds

/** The seconds until there may be another attempt; 0 when there may be one now. */
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
  // Attempts at once are counted in an order of their own: one that was asked earlier may find later ones there.
  return Math.max(1, Math.ceil(Math.min(waitMs, windowMs) / 1000))
}

/**
 * Forgets all attempts that are about this account. Their rows are locked by kind and subject; whoever counts several attempts in one
 * transaction does so in this order too, so that neither waits for the other for ever. Served by the index attempts_of_account.
 */
export async function clearAttemptsOfAccount(trx: Transaction, account: string): Promise<void> {
  const ofAccount = trx.selectFrom('attempts').select('kind').where('account', '=', account)
  await ofAccount.orderBy('kind').orderBy('subject').forUpdate().execute()
  await trx.deleteFrom('attempts').where('account', '=', account).execute()
}
