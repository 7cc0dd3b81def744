import { createHash } from 'node:crypto'
import {
  type Database,
  deleteSomeExpired,
  lockByName,
  type ProviderSessions,
  type Reader,
  shareLockByName,
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

/** A sign-in takes less time than this. */
const logoutKeptMs = 600_000

/**
 * Makes a logout end the sign-ins that are under way, too. It waits for transactions of sign-ins that have called `isLoggedOut`, so that
 * `listLoggedOut` finds their sessions. Sign-ins that call it later find the mark of the logout. Call it before the people are locked.
 */
export async function insertLogout(trx: Transaction, logout: LoggedOut & { now: number }): Promise<void> {
  await lockByName(trx, lockNameOf(logout.providerId))
  const expiresAt = logout.now + logoutKeptMs
  await trx
    .insertInto('usedTokens')
    .values({ digest: digestOf(logout), expiresAt })
    .onConflict((conflict) => conflict.column('digest').doUpdateSet({ expiresAt }))
    .execute()
}

/** Whether a logout came while the sign-in of this session was under way, since `startedAt`. Call it before the person is locked. */
export async function isLoggedOut(trx: Transaction, session: ProviderSession, startedAt: number): Promise<boolean> {
  const { providerId, issuer, subject } = session
  const sid = session.sid ?? undefined
  await shareLockByName(trx, lockNameOf(providerId))
  const logouts: LoggedOut[] = [{ providerId, issuer, sid: undefined, subject }]
  if (sid !== undefined)
    logouts.push({ providerId, issuer, sid, subject: undefined }, { providerId, issuer, sid, subject })
  const found = await trx
    .selectFrom('usedTokens')
    .select('digest')
    .where('digest', 'in', logouts.map(digestOf))
    .where('expiresAt', '>=', startedAt + logoutKeptMs)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

const lockNameOf = (providerId: string) => `logout at provider ${providerId}`

const digestOf = ({ providerId, issuer, sid, subject }: LoggedOut) =>
  createHash('sha256')
    .update(JSON.stringify(['logout', providerId, issuer, sid ?? null, subject ?? null]))
    .digest()

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
