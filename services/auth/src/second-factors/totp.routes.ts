import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type AttemptLimit, countAttempt, findServerName } from '@parley/accounts'
import {
  alreadySetUp,
  forbidden,
  invalid,
  notFound,
  Ok,
  refusals,
  secondFactorRequired,
  tooMany,
} from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { onlyWithMfa, originOf } from '../sessions/sign-in.ts'
import { type Confirmations, confirmationFields, lockCaller } from './confirmations.ts'
import { recordFactorChange } from './factor-changes.ts'
import { type Proofs, proofFields } from './proofs.ts'
import { replaceRecoveryCodes } from './recovery-codes.ts'
import { deleteTotp, findTotp, newTotp, putTotp, useTotpCode } from './totp.ts'

const BeginTotp = {
  summary: 'Begin to set up an authenticator app',
  description:
    'The secret is shown once. It works after `POST /auth/totp/confirm` with one of its codes. A repeated request creates a new secret. ' +
    'Unless the person signed in during the last ten minutes, they confirm it in the body: with their passkey if they have one (403 ' +
    '`mfa_required`), else with `currentPassword` if they have a password (403 `password_required`).',
  body: Type.Object(confirmationFields),
  response: {
    200: Type.Object({
      secret: Type.String({ description: 'In base32, for typing it into an app: SHA-1, 6 digits, 30 seconds' }),
      otpauthUrl: Type.String({ description: 'The same secret as an address for a QR code' }),
    }),
    ...refusals(400, 401, 403, 404, 409, 429),
  },
}

const ConfirmTotp = {
  summary: 'Finish setting up an authenticator app with one of its codes',
  description:
    'Returns ten recovery codes. They are shown only here, and each works once. When this is the person’s first second factor, their ' +
    'other sessions end. Ten tries are allowed in 15 minutes.',
  body: Type.Object({ code: Type.String({ maxLength: 20 }) }),
  response: { 200: Type.Object({ recoveryCodes: Type.Array(Type.String()) }), ...refusals(400, 401, 403, 404, 429) },
}

const RemoveTotp = {
  summary: 'Remove the authenticator app',
  description: 'Needs a second factor: a code, or a recovery code or passkey when the app is lost.',
  body: Type.Object(proofFields),
  response: { 200: Ok, ...refusals(400, 401, 403, 404, 429) },
}

const confirmations: AttemptLimit = { kind: 'confirmation of app', most: 10 }

export const totpRoutes =
  (deps: Deps, proofs: Proofs, { confirmed }: Confirmations): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, config, seals, clock } = deps
    const onRequest = onlyWithMfa(config)
    const mayEnrol = { config: { mayEnrol: true }, onRequest } as const

    app.post('/auth/totp', { schema: BeginTotp, ...mayEnrol }, async (request) => {
      const issuer = await findServerName(db)
      const { email } = request.caller
      const { secret, otpauthUrl } = newTotp({ issuer, account: email })
      await confirmed(request, async (trx, user, { now }) => {
        if ((await findTotp(trx, user.id))?.confirmedAt) {
          throw alreadySetUp('An authenticator app is set up already. Please remove it first')
        }
        await putTotp(trx, seals, { userId: user.id, secret, now })
      })
      return { secret, otpauthUrl }
    })

    app.post('/auth/totp/confirm', { schema: ConfirmTotp, ...mayEnrol }, async (request) => {
      const origin = originOf(request, clock())
      const wait = await countAttempt(db, confirmations, request.caller.userId, origin.now)
      if (wait > 0) throw tooMany('Too many codes. Please try again later', wait)
      const recoveryCodes = await db.transaction().execute(async (trx) => {
        const user = await lockCaller(trx, request, origin.now)
        const row = await findTotp(trx, user.id)
        // A set-up that began before the first factor was not confirmed by that factor.
        const isTooOld = row && row.createdAt < (user.secondFactorSince ?? 0)
        if (!row || row.confirmedAt || isTooOld) throw notFound('authenticator app to confirm')
        const { code } = request.body
        if (!(await useTotpCode(trx, seals, row, { code, now: origin.now }))) {
          throw invalid('The code is wrong. Please check the time of your device')
        }
        const codes = await replaceRecoveryCodes(trx, user.id)
        const { sessionId } = request.caller
        await recordFactorChange(trx, config, { user, sessionId, factor: 'totp', change: 'create', origin })
        return codes
      })
      return { recoveryCodes }
    })

    app.delete('/auth/totp', { schema: RemoveTotp, onRequest }, async (request) => {
      const origin = originOf(request, clock())
      const proof = await proofs.read(request.body, origin.now)
      if (!proof) throw secondFactorRequired()
      const refusal = await db.transaction().execute(async (trx) => {
        const user = await lockCaller(trx, request, origin.now)
        if (!(await findTotp(trx, user.id))?.confirmedAt) throw notFound('authenticator app')
        const checked = await proofs.check(trx, user, proof, { request, origin })
        if (checked.factor === undefined) return checked.refusal
        await deleteTotp(trx, user.id)
        const { sessionId } = request.caller
        await recordFactorChange(trx, config, { user, sessionId, factor: 'totp', change: 'delete', origin })
        return undefined
      })
      if (refusal !== undefined) throw forbidden(refusal)
      return { success: true as const }
    })
  }
