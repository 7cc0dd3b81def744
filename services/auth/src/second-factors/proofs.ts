import {
  type AttemptLimit,
  auditFailedSignIn,
  auditLockout,
  findSecondFactors,
  findWait,
  type SecondFactorMethod,
  tryAttempt,
} from '@parley/accounts'
import { invalid, tooMany } from '@parley/contract'
import { audit, type Transaction, type UserRow } from '@parley/database'
import { type Deps, logFailedSignIn, logSignInLimit } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { SignInOrigin } from '../sessions/sign-in.ts'
import { AssertionCredential, type Passkeys, type ShownPasskey } from './passkeys.ts'
import { useRecoveryCode } from './recovery-codes.ts'
import { findTotp, useTotpCode } from './totp.ts'

/** The fields of a body that shows a second factor. Exactly one of them is given. */
export const proofFields = {
  code: Type.Optional(Type.String({ maxLength: 20, description: 'Six digits of the authenticator app' })),
  recoveryCode: Type.Optional(
    Type.String({ maxLength: 64, description: 'One of the recovery codes; each works once' }),
  ),
  credential: Type.Optional(AssertionCredential),
}
const ProofBody = Type.Object(proofFields)
type ProofBody = Static<typeof ProofBody>

/** The proof of a second factor, as a request has it. */
export type Proof =
  | { factor: 'totp'; code: string }
  | { factor: 'recovery'; code: string }
  | { factor: 'passkey'; shown: ShownPasskey }

/** The second factor of a right proof, or the sentence for the response to a wrong one. */
export type Checked = { factor: SecondFactorMethod; refusal?: undefined } | { factor?: undefined; refusal: string }

const wrongAnswers: AttemptLimit = { kind: 'wrong second factor', most: 10 }

export type Proofs = ReturnType<typeof createProofs>

/** Checks second factors, and counts the wrong ones of each account. */
export function createProofs({ db, seals }: Pick<Deps, 'db' | 'seals'>, passkeys: Passkeys) {
  /**
   * Reads the proof of a body; undefined when there is none. The challenge of a passkey is consumed in any case.
   * @throws ApiError 400 when there are several.
   */
  async function read({ code, recoveryCode, credential }: ProofBody, now: number): Promise<Proof | undefined> {
    const given = [code, recoveryCode, credential].filter((field) => field !== undefined)
    if (given.length > 1) throw invalid('Only one of code, recoveryCode and credential can be given')
    if (code !== undefined) return { factor: 'totp', code }
    if (recoveryCode !== undefined) return { factor: 'recovery', code: recoveryCode }
    return credential && { factor: 'passkey', shown: await passkeys.readAssertion(db, credential, now) }
  }

  /**
   * Checks a proof of this person and counts it when it is wrong. The person must be locked, so that the count is
   * exact. Commit the transaction before you throw the refusal, because a rollback would lose the count.
   * @throws ApiError 429 after ten wrong proofs in 15 minutes, even when this one is right.
   */
  async function check(
    trx: Transaction,
    user: UserRow,
    proof: Proof,
    { request, origin: { ip, now } }: { request: FastifyRequest; origin: SignInOrigin },
  ): Promise<Checked> {
    const wait = await findWait(trx, wrongAnswers, user.id, now)
    if (wait > 0) throw tooMany('Too many wrong codes. Please try again later', wait)
    const { fault: reason, isAudited } = await verifyProof(trx, user, proof, { ip, now })
    if (reason === undefined) return { factor: proof.factor }

    const { count } = await tryAttempt(trx, wrongAnswers, { subject: user.id, now })
    if (!isAudited) await auditFailedSignIn(trx, { method: 'second factor', reason, userId: user.id, ip, now })
    logFailedSignIn(request, { method: 'second factor', reason, userId: user.id })
    if (count === wrongAnswers.most) {
      const scope = 'second factor'
      await auditLockout(trx, { scope, userId: user.id, ip, now })
      logSignInLimit(request, { scope, userId: user.id })
    }
    return { refusal: sentences[proof.factor] }
  }

  /** Checks a proof and consumes it. Returns the reason of a refusal as a constant text for the logs. */
  async function verifyProof(
    trx: Transaction,
    user: UserRow,
    proof: Proof,
    { ip, now }: { ip: string; now: number },
  ): Promise<{ fault?: string; isAudited?: boolean }> {
    if (proof.factor === 'passkey') {
      const { userId, ...accepted } = await passkeys.accept(trx, proof.shown, { ip, now })
      return accepted.fault === undefined && userId !== user.id ? { fault: 'passkey of somebody else' } : accepted
    }
    if (proof.factor === 'totp') {
      const row = await findTotp(trx, user.id)
      const isRight = row?.confirmedAt != null && (await useTotpCode(trx, seals, row, { code: proof.code, now }))
      return isRight ? {} : { fault: 'wrong or used code' }
    }
    if (!(await useRecoveryCode(trx, user.id, proof.code))) return { fault: 'wrong or used recovery code' }
    const { recoveryCodes } = await findSecondFactors(trx, user.id)
    await audit(trx, {
      action: 'mfa.recovery.use',
      actorId: user.id,
      targetType: 'user',
      targetId: user.id,
      metadata: { left: recoveryCodes },
      ip,
    })
    return {}
  }

  return { read, check }
}

const sentences: Record<SecondFactorMethod, string> = {
  totp: 'The code is wrong, or it was used before. Please wait for the next one',
  recovery: 'The recovery code is wrong, or it was used before',
  passkey: 'This passkey was not accepted',
}
