import type { Reader } from '@parley/database'

/** The sessions and API tokens of a person that are live, newest first. Served by the index sessions_active. */
export const liveSessionsOf = (db: Reader, userId: string, now: number) =>
  db
    .selectFrom('sessions')
    .where('userId', '=', userId)
    .where('endedAt', 'is', null)
    .where('expiresAt', '>', now)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
