import { isIPv6 } from 'node:net'
import type { Reader, Transaction } from '@parley/database'
import { sql } from 'kysely'

/** The most attempts of a subject within a time: 15 minutes unless given, at most an hour. */
export interface AttemptLimit {
  kind: string
  most: number
  windowMs?: number
}

const quarterHourMs = 900_000

/**
 * `seconds` is 0 when the attempt was counted, as number `count` within the time. Otherwise the next attempt is
 * possible after so many seconds.
 */
export type Counted = { seconds: 0; count: number } | { seconds: number; count?: undefined }

/**
 * Counts an attempt, unless as many as allowed were counted within the time. Exact: concurrent attempts take turns at
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
  // Concurrent attempts may be counted in another order than they came: an earlier one may find later ones.
  return Math.max(1, Math.ceil(Math.min(waitMs, windowMs) / 1000))
}

/**
 * Forgets all attempts that are about this account. Their rows are locked by kind and subject; whoever counts several attempts in one
 * transaction uses this order too, so that there is no deadlock. Served by the index attempts_of_account.
 */
export async function clearAttemptsOfAccount(trx: Transaction, account: string): Promise<void> {
  const ofAccount = trx.selectFrom('attempts').select('kind').where('account', '=', account)
  await ofAccount.orderBy('kind').orderBy('subject').forUpdate().execute()
  await trx.deleteFrom('attempts').where('account', '=', account).execute()
}

/**
 * The network that limits count for: an IPv4 address, or the first 64 bits of an IPv6 address, because one client usually has all
 * addresses below them.
 */
export function networkOf(ip: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip) ?? []
  if (mapped) return mapped
  if (!isIPv6(ip)) return ip
  const [before = '', after] = ip.replace(/%.*$/, '').toLowerCase().split('::')
  const head = groups(before)
  const tail = after === undefined ? [] : groups(after)
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return `${[...head, ...zeros, ...tail]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

const groups = (text: string) => text.split(':').filter((group) => group !== '')
