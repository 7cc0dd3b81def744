import type { Reader } from '@parley/database'
import { sql } from 'kysely'

/** So many attempts of a subject within a time, 15 minutes unless given and at most an hour. */
export interface AttemptLimit {
  kind: string
  most: number
  windowMs?: number
}

const quarterHourMs = 900_000

/**
 * Counts an attempt. Answers 0, or, when there were as many as allowed within its time, the seconds until there
 * may be another; such attempts do not count. Exact: attempts at once take turns at the subject's row, until the end of the
 * transaction if there is one.
 */
export async function countAttempt(db: Reader, limit: AttemptLimit, subject: string, now: number): Promise<number> {
  const { windowMs = quarterHourMs } = limit
  const counted = await sql`
    insert into attempts as known (kind, subject, attempted_at, last_attempt_at)
    values (${limit.kind}, ${subject}, array[${now}::bigint], ${now})
    on conflict (kind, subject) do update
    set attempted_at =
          array(select moment from unnest(known.attempted_at) moment where moment > ${now - windowMs} order by moment)
          || ${now}::bigint,
        last_attempt_at = ${now}
    where (select count(*) from unnest(known.attempted_at) moment where moment > ${now - windowMs}) < ${limit.most}
    returning 1`.execute(db)
  return counted.rows.length > 0 ? 0 : Math.max(1, await findWait(db, limit, subject, now))
}

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

/** Forgets the attempts of a subject. */
export async function clearAttempts(db: Reader, { kind }: AttemptLimit, subject: string): Promise<void> {
  await db.deleteFrom('attempts').where('kind', '=', kind).where('subject', '=', subject).execute()
}
