import { applyFactorChange, lockUser, mailNotice } from '@parley/accounts'
import type { Config } from '@parley/config'
import { forbidden, secondFactorRequired } from '@parley/contract'
import { audit, type Database, type Reader, type Transaction, type UserRow } from '@parley/database'
import { findCaller } from '@parley/identity'
import type { FastifyRequest } from 'fastify'
import type { SignInOrigin } from '../sessions/sign-in.ts'
import type { Proof, Proofs } from './proofs.ts'

export interface FactorChange {
  user: UserRow
  /** The session that makes the change. */
  sessionId: string
  factor: 'totp' | 'passkey'
  change: 'create' | 'delete'
  /** For the audit log. */
  metadata?: Record<string, unknown>
  origin: SignInOrigin
}

const names = { totp: 'authenticator app', passkey: 'passkey' } as const

/** Locks the caller, and checks again that their session is live: it may have ended since the request began. */
export async function lockCaller(trx: Transaction, { caller }: FastifyRequest, now: number): Promise<UserRow> {
  const user = await lockUser(trx, caller.userId)
  await findCaller(trx, caller, now, { mayEnrol: true })
  return user
}

/** Milliseconds after a sign-in in which its session may change second factors without a new proof. */
const freshMs = 600_000

interface Confirmation {
  request: FastifyRequest
  proof: Proof | undefined
  origin: SignInOrigin
}

/**
 * Runs a change of the caller's second factors in a transaction, under the lock of the caller. A caller who has a second factor must have
 * shown it a short time ago: in this request, or at a sign-in in the last ten minutes. Otherwise a stolen access token could be used to
 * replace the factors by those of a thief.
 * @throws ApiError 403 `mfa_required` without such a proof, 403 for a wrong one, 429 after too many wrong ones.
 */
export async function changeConfirmed<Result>(
  db: Database,
  proofs: Proofs,
  { request, proof, origin }: Confirmation,
  change: (trx: Transaction, user: UserRow) => Promise<Result>,
): Promise<Result> {
  // A wrong proof must be committed, so the refusal is thrown after the transaction.
  const { refusal, result } = await db.transaction().execute(async (trx) => {
    const user = await lockCaller(trx, request, origin.now)
    if (user.secondFactorSince !== null) {
      if (!proof && !(await isFresh(trx, request.caller.sessionId, origin.now))) throw secondFactorRequired()
      const { refusal } = proof ? await proofs.check(trx, user, proof, { request, origin }) : {}
      if (refusal !== undefined) return { refusal }
    }
    return { result: await change(trx, user) }
  })
  if (refusal !== undefined) throw forbidden(refusal)
  return result as Result
}

/** Whether the session began a short time ago. */
async function isFresh(db: Reader, sessionId: string, now: number): Promise<boolean> {
  const session = await db
    .selectFrom('sessions')
    .select('createdAt')
    .where('id', '=', sessionId)
    .executeTakeFirstOrThrow()
  return now - session.createdAt < freshMs
}

/** Updates the caller's sessions, audits the change and mails the caller. Call it after a second factor was set up or removed. */
export async function recordFactorChange(
  trx: Transaction,
  config: Config,
  { user, sessionId, factor, change, metadata, origin }: FactorChange,
): Promise<void> {
  const { ip, now } = origin
  await applyFactorChange(trx, { user, sessionId, mfaRequired: config.auth.mfa === 'required', ip, now })
  await audit(trx, {
    action: `mfa.${factor}.${change}`,
    actorId: user.id,
    targetType: 'user',
    targetId: user.id,
    ...(metadata && { metadata }),
    ip,
  })
  await mailNotice(trx, config, {
    user,
    notice: `${names[factor]} ${change === 'create' ? 'added' : 'removed'}`,
    ...origin,
  })
}
