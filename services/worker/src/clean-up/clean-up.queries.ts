import type { Database } from '@parley/database'

const atOnce = 5_000

/** Deletes idempotency keys created before a moment; answers how many. Served by idempotency_keys_age. */
export function deleteOldIdempotencyKeys(db: Database, before: number): Promise<number> {
  return inPortions(() =>
    db
      .deleteFrom('idempotencyKeys')
      .where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple('userId', 'key'),
          'in',
          selectFrom('idempotencyKeys')
            .select(['userId', 'key'])
            .where('createdAt', '<', before)
            .orderBy('createdAt')
            .limit(atOnce)
            .$asTuple('userId', 'key'),
        ),
      )
      .executeTakeFirst(),
  )
}

/** Deletes sessions that ended or expired before a moment; answers how many. */
export function deleteOldSessions(db: Database, before: number): Promise<number> {
  return inPortions(() =>
    db
      .deleteFrom('sessions')
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('sessions')
          .select('id')
          .where((or) => or.or([or('endedAt', '<', before), or('expiresAt', '<', before)]))
          .limit(atOnce),
      )
      .executeTakeFirst(),
  )
}

/** Short statements instead of one long one, which would hold its locks and old row versions all the while. */
async function inPortions(deletePortion: () => Promise<{ numDeletedRows: bigint }>): Promise<number> {
  let total = 0
  for (;;) {
    const { numDeletedRows } = await deletePortion()
    total += Number(numDeletedRows)
    if (numDeletedRows < atOnce) return total
  }
}
