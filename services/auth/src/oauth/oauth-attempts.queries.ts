import type { Database } from '@parley/database'
import { sql } from 'kysely'

const windowMs = 900_000
const most = 10
const clearedAtOnce = 100

/**
 * Counts an attempt of this address. Answers 0, or, when it made as many as it may within the last 15 minutes, the
 * seconds until it may again; refused attempts do not count. Exact: attempts at once take turns at the address's row.
 */
export async function countAttempt(db: Database, ip: string, now: number): Promise<number> {
  const counted = await sql`
    insert into oauth_attempts as known (ip, attempted_at, last_attempt_at) values (${ip}, array[${now}::bigint], ${now})
    on conflict (ip) do update
    set attempted_at = array(select moment from unnest(known.attempted_at) moment where moment > ${now - windowMs} order by moment)
          || ${now}::bigint,
        last_attempt_at = ${now}
    where (select count(*) from unnest(known.attempted_at) moment where moment > ${now - windowMs}) < ${most}
    returning ip`.execute(db)
  if (counted.rows.length > 0) return 0

  const known = await db.selectFrom('oauthAttempts').select('attemptedAt').where('ip', '=', ip).executeTakeFirst()
  const oldest = Math.min(...(known?.attemptedAt ?? []).filter((at) => at > now - windowMs), now)
  return Math.max(1, Math.ceil((oldest + windowMs - now) / 1000))
}

/** Forgets a few addresses whose attempts are all over: nothing else does. */
export async function clearAttempts(db: Database, now: number): Promise<void> {
  await db
    .deleteFrom('oauthAttempts')
    .where('ip', 'in', (stale) =>
      stale
        .selectFrom('oauthAttempts')
        .select('ip')
        .where('lastAttemptAt', '<=', now - windowMs)
        .orderBy('lastAttemptAt')
        .limit(clearedAtOnce)
        .forUpdate()
        .skipLocked(),
    )
    .execute()
}
