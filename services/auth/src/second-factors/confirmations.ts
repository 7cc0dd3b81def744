import { lockUser } from '@parley/accounts'
import { CurrentPassword, forbidden, passwordRequired, secondFactorRequired } from '@parley/contract'
import type { Reader, Transaction, UserRow } from '@parley/database'
import { findCaller } from '@parley/identity'
import type { Deps } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { originOf, type SignInOrigin, usesSecondFactor } from '../sessions/sign-in.ts'
import { type Proof, type Proofs, proofFields } from './proofs.ts'

/** The fields of a body that confirms who the caller is. */
export const confirmationFields = {
  ...proofFields,
  currentPassword: Type.Optional(CurrentPassword),
}
const ConfirmationBody = Type.Object(confirmationFields)
type ConfirmationBody = Static<typeof ConfirmationBody>

/** Milliseconds after a sign-in in which its session may change credentials without a new proof. */
const freshMs = 600_000

/** Locks the caller, and checks again that their session is live: it may have ended since the request began. */
export async function lockCaller(trx: Transaction, { caller }: FastifyRequest, now: number): Promise<UserRow> {
  const user = await lockUser(trx, caller.userId)
  await findCaller(trx, caller, now, { mayEnrol: true })
  return user
}

/** Checks the current password of the caller. @throws ApiError 403 when it is wrong, 429 after too many wrong ones. */
export type VerifyCurrentPassword = (
  request: FastifyRequest,
  shown: { user: UserRow; password: string; origin: SignInOrigin },
) => Promise<void>

export type Confirmations = ReturnType<typeof createConfirmations>

/**
 * Runs changes of credentials that a stolen access token must not be able to make. So the caller must have signed in during the
 * last ten minutes, or they confirm the request.
 */
export function createConfirmations(
  { db, config, clock }: Pick<Deps, 'db' | 'config' | 'clock'>,
  proofs: Proofs,
  verifyCurrentPassword: VerifyCurrentPassword,
) {
  /**
   * What the caller can confirm a request with: a second factor if they have one, else a password. Nothing when they have neither, for
   * example because they sign in through a provider.
   */
  function needOf(user: UserRow): 'factor' | 'password' | undefined {
    if (usesSecondFactor(config, user)) return 'factor'
    return user.passwordHash !== null && config.auth.authMode === 'password' ? 'password' : undefined
  }

  /**
   * Runs a change in a transaction, under the lock of the caller. `lock` takes locks that must come before that one.
   * @throws ApiError 403 `mfa_required` or `password_required` without the proof that is needed, 403 for a wrong one, 429 after too many
   * wrong ones.
   */
  async function confirmed<Result>(
    request: FastifyRequest<{ Body: ConfirmationBody }>,
    change: (trx: Transaction, user: UserRow, origin: SignInOrigin) => Promise<Result>,
    lock: (trx: Transaction, origin: SignInOrigin) => Promise<void> = async () => {},
  ): Promise<Result> {
    const origin = originOf(request, clock())
    const proof = await proofs.read(request.body, origin.now)
    const verifiedHash = await verifyPassword(request, origin)
    // A wrong proof must be committed, so the refusal is thrown after the transaction.
    const { refusal, result } = await db.transaction().execute(async (trx) => {
      await lock(trx, origin)
      const user = await lockCaller(trx, request, origin.now)
      const refusal = await check(trx, { user, request, proof, verifiedHash, origin })
      return refusal === undefined ? { result: await change(trx, user, origin) } : { refusal }
    })
    if (refusal !== undefined) throw forbidden(refusal)
    return result as Result
  }

  /** Checks the password of the body if it is the needed proof. Returns the hash to which it belongs. */
  async function verifyPassword(request: FastifyRequest<{ Body: ConfirmationBody }>, origin: SignInOrigin) {
    const { currentPassword: password } = request.body
    if (password === undefined) return undefined
    const { userId } = request.caller
    const user = await db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirstOrThrow()
    if (needOf(user) !== 'password') return undefined
    await verifyCurrentPassword(request, { user, password, origin })
    return user.passwordHash
  }

  interface Shown {
    user: UserRow
    request: FastifyRequest
    proof: Proof | undefined
    /** The hash of the password that the caller has shown. */
    verifiedHash: string | null | undefined
    origin: SignInOrigin
  }

  /** Returns the sentence for a wrong proof. */
  async function check(trx: Transaction, { user, request, proof, verifiedHash, origin }: Shown) {
    const need = needOf(user)
    if (need === 'factor' && proof) return (await proofs.check(trx, user, proof, { request, origin })).refusal
    const isProven = need === undefined || (need === 'password' && verifiedHash === user.passwordHash)
    if (isProven || (await isFresh(trx, request.caller.sessionId, origin.now))) return undefined
    throw need === 'factor' ? secondFactorRequired() : passwordRequired()
  }

  return { confirmed }
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
