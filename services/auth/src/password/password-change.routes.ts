import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { lockUser, mailNotice, networkOf, type PasswordHasher, refuseWeakPassword, setPassword } from '@parley/accounts'
import { CurrentPassword, forbidden, invalid, NewPassword, Ok, refusals, secondFactorRequired } from '@parley/contract'
import { audit } from '@parley/database'
import { findCaller } from '@parley/identity'
import { type Deps, logSessionEnd } from '@parley/service'
import { Type } from 'typebox'
import type { VerifyCurrentPassword } from '../second-factors/confirmations.ts'
import { type Proofs, proofFields } from '../second-factors/proofs.ts'
import { onlyInMode, originOf, type SignIns, usesSecondFactor } from '../sessions/sign-in.ts'

const ChangePassword = {
  summary: 'Change one’s own password (password mode)',
  description:
    'Ends the other sessions. A wrong `currentPassword` is 403 and counts as a wrong password of a sign-in. A person with a second factor ' +
    'also sends one of `code`, `recoveryCode` and `credential` (the answer to `POST /auth/passkeys/authentication`); without it the response is ' +
    '403 `mfa_required`. A common password, or the name or address of the person, is refused (400 `weak_password`).',
  body: Type.Object({ currentPassword: CurrentPassword, newPassword: NewPassword, ...proofFields }),
  response: { 200: Ok, ...refusals(400, 401, 403, 404, 429, 503) },
}

export const passwordChangeRoutes =
  (
    deps: Deps,
    passwords: PasswordHasher,
    proofs: Proofs,
    verifyCurrentPassword: VerifyCurrentPassword,
    { devices }: SignIns,
  ): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, clock } = deps
    const onRequest = onlyInMode('password', config)

    app.put('/auth/password', { schema: ChangePassword, onRequest }, async (request, reply) => {
      const { userId, sessionId } = request.caller
      const { currentPassword, newPassword, ...proofBody } = request.body
      const origin = originOf(request, clock())
      const user = await db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirstOrThrow()
      if (newPassword === currentPassword) throw invalid('newPassword must differ from currentPassword')
      await refuseWeakPassword(newPassword, user)
      await verifyCurrentPassword(request, { user, password: currentPassword, origin })

      const proof = usesSecondFactor(config, user) ? await proofs.read(proofBody, origin.now) : undefined
      if (usesSecondFactor(config, user) && !proof) throw secondFactorRequired()
      const passwordHash = await passwords.hash(newPassword, {
        purpose: 'sign-in',
        client: networkOf(origin.ip),
      })

      // A wrong second factor must be committed, so the refusal is thrown after the transaction.
      const { changed, refusal } = await db.transaction().execute(async (trx) => {
        const current = await lockUser(trx, userId)
        await findCaller(trx, request.caller, origin.now)
        if (current.passwordHash !== user.passwordHash) throw forbidden('The password was changed just now')
        // Another request has set up a second factor just now.
        if (usesSecondFactor(config, current) && !proof) throw secondFactorRequired()
        if (proof) {
          const checked = await proofs.check(trx, current, proof, { request, origin })
          if (checked.factor === undefined) return { refusal: checked.refusal }
        }
        const { ip, now } = origin
        await setPassword(trx, { userId, passwordHash, except: sessionId, ip, now })
        await audit(trx, { action: 'password.update', actorId: userId, targetType: 'user', targetId: userId, ip })
        await mailNotice(trx, config, { user: current, notice: 'password changed', ...origin })
        return { changed: await lockUser(trx, userId) }
      })
      if (!changed) throw forbidden(refusal)
      logSessionEnd(request, { userId, reason: 'password changed' })
      devices.remember(changed, request, reply)

      return { success: true as const }
    })
  }
