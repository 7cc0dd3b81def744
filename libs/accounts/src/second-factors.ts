import { nobody } from '@parley/contract'
import { type Reader, recordControl, type Transaction, type UserRow } from '@parley/database'
import { endSessions } from './session-endings.ts'

export interface SecondFactors {
  /** Whether they use an authenticator app. */
  hasTotp: boolean
  passkeys: number
  recoveryCodes: number
}

/** The second factors of a person. Served by the primary keys and the index passkeys_of_user. */
export async function findSecondFactors(db: Reader, userId: string): Promise<SecondFactors> {
  const { totp, passkeys, recoveryCodes } = await db
    .selectNoFrom(({ selectFrom, fn }) => [
      selectFrom('totpSecrets')
        .select('userId')
        .where('userId', '=', userId)
        .where('confirmedAt', 'is not', null)
        .as('totp'),
      selectFrom('passkeys').select(fn.countAll<number>().as('count')).where('userId', '=', userId).as('passkeys'),
      selectFrom('recoveryCodes')
        .select(fn.countAll<number>().as('count'))
        .where('userId', '=', userId)
        .as('recoveryCodes'),
    ])
    .executeTakeFirstOrThrow()
  return { hasTotp: totp !== null, passkeys: Number(passkeys), recoveryCodes: Number(recoveryCodes) }
}

interface FactorChange {
  /** The person, whose row is locked. */
  user: UserRow
  /** The session that makes the change; null when somebody else makes it. */
  sessionId: string | null
  /** Whether the configuration requires a second factor. */
  mfaRequired: boolean
  ip: string | null
  now: number
}

/**
 * Call it after each change of a person's second factors.
 * - After the first factor was added, all other sessions end, because they began without it. The session itself is not
 *   restricted any more.
 * - After the last factor was removed, the recovery codes are deleted. If a factor is required, sessions that no
 *   provider started must set one up again, and their streams end.
 */
export async function applyFactorChange(trx: Transaction, change: FactorChange): Promise<void> {
  const { user, sessionId, mfaRequired, ip, now } = change
  const { hasTotp, passkeys } = await findSecondFactors(trx, user.id)
  const hasFactor = hasTotp || passkeys > 0
  if (hasFactor === (user.secondFactorSince !== null)) return
  const since = { secondFactorSince: hasFactor ? now : null }
  await trx.updateTable('users').set(since).where('id', '=', user.id).execute()

  if (hasFactor) {
    const others = { ...(sessionId !== null && { except: sessionId }), reason: 'second factor set up' } as const
    await endSessions(trx, { userId: user.id, ...others, ip, now })
    await trx.updateTable('sessions').set({ mustEnrol: false }).where('id', '=', sessionId).execute()
    return
  }
  await trx.deleteFrom('recoveryCodes').where('userId', '=', user.id).execute()
  await trx.deleteFrom('mfaAttempts').where('userId', '=', user.id).execute()
  if (!mfaRequired) return
  await endStreamsOf(trx, await markToEnrol(trx, { userId: user.id }))
}

/** Deletes the second factors of a person, and their sign-ins that wait for one. */
export async function deleteSecondFactors(trx: Transaction, userId: string): Promise<void> {
  for (const table of ['totpSecrets', 'recoveryCodes', 'passkeys', 'mfaAttempts'] as const) {
    await trx.deleteFrom(table).where('userId', '=', userId).execute()
  }
}

const batchSize = 1_000

/**
 * Applies `auth.mfa`, which may have changed with a restart, to all live sessions. Sessions that begin or are refreshed
 * later follow it by themselves. Returns the number of changed sessions.
 */
export async function applyMfaPolicy(trx: Transaction, mfaRequired: boolean): Promise<number> {
  if (!mfaRequired) {
    const freed = await trx
      .updateTable('sessions')
      .set({ mustEnrol: false })
      .where('mustEnrol', '=', true)
      .executeTakeFirst()
    return Number(freed.numUpdatedRows)
  }
  const marked = await markToEnrol(trx, {})
  for (let from = 0; from < marked.length; from += batchSize) {
    await endStreamsOf(trx, marked.slice(from, from + batchSize))
  }
  return marked.length
}

/** Marks the live sessions of people without a second factor, and returns their ids. */
async function markToEnrol(trx: Transaction, { userId }: { userId?: string }): Promise<string[]> {
  const rows = await trx
    .updateTable('sessions')
    .set({ mustEnrol: true })
    .where('endedAt', 'is', null)
    .where('viaProvider', '=', false)
    // API tokens are rows of this table too, and are left out. The session that created them had all rights.
    .where('tokenHash', 'is', null)
    .where('mustEnrol', '=', false)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('users')
          .select('users.id')
          .whereRef('users.id', '=', 'sessions.userId')
          .where('secondFactorSince', 'is', null),
      ),
    )
    .$if(userId !== undefined, (query) => query.where('userId', '=', userId!))
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Ends the streams of sessions that stay live. */
async function endStreamsOf(trx: Transaction, sessionIds: string[]) {
  if (sessionIds.length > 0) await recordControl(trx, { ...nobody, endSessions: sessionIds })
}
