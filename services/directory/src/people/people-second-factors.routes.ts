import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { applyFactorChange, deleteSecondFactors, findSecondFactors, lockAsAdmin, mailNotice } from '@parley/accounts'
import { invalid, notFound, Ok, refusals } from '@parley/contract'
import { audit, isRowId } from '@parley/database'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'

const RemoveSecondFactors = {
  summary: 'Remove all second factors of a person who has lost them',
  description:
    'Removes the authenticator app, the recovery codes and the passkeys. The person gets a mail. Where a second factor is required, they must set ' +
    'one up again before they can do anything else. Admins cannot remove their own second factors in this way.',
  params: Type.Object({ id: Type.String() }),
  response: { 200: Ok, ...refusals(400, 401, 403, 404) },
}

/** An admin helps people who have lost their second factors. */
export const peopleSecondFactorsRoutes =
  ({ db, config, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const access = { access: 'admin', tokenScope: 'none' } as const

    app.delete('/users/:id/second-factors', { schema: RemoveSecondFactors, config: access }, async (request) => {
      const { caller, ip, params } = request
      if (!isRowId(params.id)) throw notFound('user')
      // To remove their own factors, admins must prove one, so that a stolen session of an admin cannot remove them.
      if (params.id === caller.userId)
        throw invalid('Please remove your own second factors in your settings, with a code')

      await db.transaction().execute(async (trx) => {
        const now = clock()
        const people = await lockAsAdmin(trx, { caller, now }, params.id)
        const user = people.get(params.id)
        if (!user) throw notFound('user')
        const { hasTotp, passkeys } = await findSecondFactors(trx, user.id)
        if (!hasTotp && passkeys === 0) throw notFound('second factor')

        await deleteSecondFactors(trx, user.id)
        const mfaRequired = config.auth.mfa === 'required'
        await applyFactorChange(trx, { user, sessionId: null, mfaRequired, ip, now })
        await audit(trx, {
          action: 'mfa.reset',
          actorId: caller.userId,
          targetType: 'user',
          targetId: user.id,
          metadata: { totp: hasTotp, passkeys },
          ip,
        })
        await mailNotice(trx, config, { user, notice: 'second factors removed', ip: null, userAgent: null, now })
      })
      return { success: true as const }
    })
  }
