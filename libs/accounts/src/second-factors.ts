import { nobody } from '@parley/contract'
import { type Reader, recordControl, type Transaction, type UserRow } from '@parley/database'
import { endSessions } from './sessions.ts'

export interface SecondFactors {
  /** An authenticator app. */
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

export interface FactorChange {
  /** The person, locked. */
  user: UserRow
  /** The session that makes the change; null when somebody else does. */
  sessionId: string | null
  /** Whether the configuration requires a second factor. */
  mfaRequired: boolean
  ip: string | null
  now: number
}

/**
 * Call it after each change of a person's second factors.
 * - With the first factor all other sessions end, because nobody has shown it there. The session itself may do everything from now on.
 * - Without the last factor recovery codes are of no use. If one is required, the sessions that no provider has started must set one
 *   up again, and their streams end.
 */
export async function settleSecondFactors(trx: Transaction, change: FactorChange): Promise<void> {
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

/** Deletes the second factors of somebody who leaves. */
export async function deleteSecondFactors(trx: Transaction, userId: string): Promise<void> {
  for (const table of ['totpSecrets', 'recoveryCodes', 'passkeys', 'mfaAttempts'] as const) {
    await trx.deleteFrom(table).where('userId', '=', userId).execute()
  }
}

const markedAtOnce = 1_000

/**
 * Brings all live sessions in line with `auth.mfa`, which may have changed with a restart. Sessions that begin or are refreshed later
 * follow it by themselves. Answers how many sessions have changed.
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
  for (let from = 0; from < marked.length; from += markedAtOnce) {
    await endStreamsOf(trx, marked.slice(from, from + markedAtOnce))
  }
  return marked.length
}

/** Marks the live sessions of people without a second factor, and answers their ids. */
async function markToEnrol(trx: Transaction, { userId }: { userId?: string }): Promise<string[]> {
  const rows = await trx
    .updateTable('sessions')
    .set({ mustEnrol: true })
    .where('endedAt', 'is', null)
    .where('viaProvider', '=', false)
    // API tokens are rows too. They were made by a session that could do everything.
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

/** Ends the streams of sessions that go on. */
async function endStreamsOf(trx: Transaction, sessionIds: string[]) {
  if (sessionIds.length > 0) await recordControl(trx, { ...nobody, endSessions: sessionIds })
}
