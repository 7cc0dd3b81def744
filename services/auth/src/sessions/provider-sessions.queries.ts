import { createHash } from 'node:crypto'
import {
  type Database,
  deleteSomeExpired,
  type ProviderSessions,
  type Reader,
  type Transaction,
} from '@parley/database'
import type { Selectable } from 'kysely'

/** The provider's ids of a session that began with a sign-in there. */
export type ProviderSession = Omit<Selectable<ProviderSessions>, 'sessionId'>

export const insertProviderSession = (trx: Transaction, session: ProviderSession & { sessionId: string }) =>
  trx.insertInto('providerSessions').values(session).execute()

/** The provider session that began one of these sessions. Served by the primary key. */
export const findProviderSession = (db: Reader, sessionIds: string[]): Promise<ProviderSession | undefined> =>
  sessionIds.length === 0
    ? Promise.resolve(undefined)
    : db.selectFrom('providerSessions').selectAll().where('sessionId', 'in', sessionIds).executeTakeFirst()

/** The scope of a logout at the provider: a session of the provider, all sessions of a person, or one session of a person. */
export interface LoggedOut {
  providerId: string
  issuer: string
  sid: string | undefined
  subject: string | undefined
}

/** The live sessions that a logout ends. Served by provider_sessions_of_sid and provider_sessions_of_subject. */
export const listLoggedOut = (db: Reader, { providerId, issuer, sid, subject }: LoggedOut) =>
  db
    .selectFrom('providerSessions')
    .innerJoin('sessions', 'sessions.id', 'providerSessions.sessionId')
    .select(['sessions.id', 'sessions.userId'])
    .where('providerId', '=', providerId)
    .where('issuer', '=', issuer)
    .$if(sid !== undefined, (query) => query.where('sid', '=', sid!))
    .$if(subject !== undefined, (query) => query.where('subject', '=', subject!))
    .where('sessions.endedAt', 'is', null)
    .execute()

/** Marks a token of an issuer as used. Returns false when it was used before. Deletes a few expired marks. */
export async function insertUsedToken(
  db: Database | Transaction,
  { issuer, id, expiresAt, now }: { issuer: string; id: string; expiresAt: number; now: number },
): Promise<boolean> {
  const digest = createHash('sha256').update(`${issuer}\n${id}`).digest()
  await deleteSomeExpired(db, 'usedTokens', now)
  const used = await db
    .insertInto('usedTokens')
    .values({ digest, expiresAt })
    .onConflict((conflict) => conflict.doNothing())
    .returning('digest')
    .executeTakeFirst()
  return used !== undefined
}
