import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { findSecondFactors, lockUser, mailNotice } from '@parley/accounts'
import { invalid, refusals, SessionHeaders, TokenResponse, unauthorized } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { countWrongAnswer, deleteAttempt, findAttempt } from '../sessions/mfa-attempts.ts'
import { onlyWithMfa, originOf, type SignIns, signIn, signInTransaction } from '../sessions/sign-in.ts'
import { type Proofs, proofFields } from './proofs.ts'

const GetSecondFactors = {
  summary: 'Get the second factors of the caller',
  response: {
    200: Type.Object({
      required: Type.Boolean({ description: 'The server requires a second factor' }),
      totp: Type.Boolean({ description: 'An authenticator app is set up' }),
      passkeys: Type.Integer(),
      recoveryCodes: Type.Integer({ description: 'Number of recovery codes that were not used yet' }),
    }),
    ...refusals(401, 404),
  },
}

const FinishSignIn = {
  summary: 'Finish a sign-in with a second factor',
  description:
    'Takes one of `code`, `recoveryCode` and `credential` (the answer to `POST /auth/passkeys/authentication` with the `mfaToken`). The attempt ' +
    'ends after five wrong answers or ten minutes (401 `mfa_attempt_ended`). After ten wrong answers for an account in 15 minutes, all answers ' +
    'are refused for a while, even right ones (429).',
  headers: SessionHeaders,
  body: Type.Object({ mfaToken: Type.String({ maxLength: 1_000 }), ...proofFields }),
  response: { 200: TokenResponse, ...refusals(400, 401, 403, 404, 429) },
}

export const mfaRoutes =
  (deps: Deps, proofs: Proofs, { devices, respondToSignIn }: SignIns): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, clock } = deps
    const onRequest = onlyWithMfa(config)

    app.get(
      '/auth/second-factors',
      { schema: GetSecondFactors, config: { mayEnrol: true }, onRequest },
      async ({ caller }) => {
        const { hasTotp, passkeys, recoveryCodes } = await findSecondFactors(db, caller.userId)
        return { required: config.auth.mfa === 'required', totp: hasTotp, passkeys, recoveryCodes }
      },
    )

    app.post('/auth/mfa', { schema: FinishSignIn, config: { access: 'none' }, onRequest }, async (request, reply) => {
      const origin = originOf(request, clock())
      const { mfaToken, ...body } = request.body
      const { userId } = await findAttempt(db, mfaToken, origin.now)
      const proof = await proofs.read(body, origin.now)
      if (!proof) throw invalid('One of code, recoveryCode and credential is missing')

      // A wrong answer must be committed, so the refusal is thrown after the transaction.
      const { result, refusal, seconds } = await signInTransaction(db, request, origin, async (trx) => {
        const user = await lockUser(trx, userId)
        const attempt = await findAttempt(trx, mfaToken, origin.now)
        const { factor, refusal } = await proofs.check(trx, user, proof, { request, origin })
        if (factor === undefined) {
          await countWrongAnswer(trx, attempt)
          return { refusal }
        }
        await deleteAttempt(trx, attempt)
        if (factor === 'recovery') await mailNotice(trx, config, { user, notice: 'recovery code used', ...origin })
        const { method, seconds } = attempt
        const isKnownDevice = devices.isKnown(user, request)
        const newSession = { user, method, secondFactor: factor, atLeastSeconds: seconds, isKnownDevice }
        return { result: { user, method, session: await signIn(trx, config, newSession, origin) } as const, seconds }
      })
      if (!result) throw unauthorized(refusal)

      return respondToSignIn(request, reply, result, { accessSeconds: seconds })
    })
  }
