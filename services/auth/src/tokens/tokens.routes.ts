import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { createToken, deleteToken, listTokens } from '@parley/accounts'
import { ApiToken, NewApiToken, notFound, Ok, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { type Confirmations, confirmationFields } from '../second-factors/confirmations.ts'

const CreateToken = {
  summary: 'Create an API token for the caller',
  description:
    'For programs, which send it in place of an access token: `Authorization: Bearer parley_pat_…`. It is shown only here. The scope ' +
    '`read` allows requests that change nothing, `write` allows other requests, and `admin` those of admins. An API token cannot create ' +
    'API tokens. Unless the person signed in during the last ten minutes, they confirm it in the body: with a second factor if they have one ' +
    '(403 `mfa_required`), else with `currentPassword` if they have a password (403 `password_required`).',
  body: Type.Object({ ...NewApiToken.properties, ...confirmationFields }),
  response: {
    200: Type.Object({ ...ApiToken.properties, token: Type.String() }),
    ...refusals(400, 401, 403, 429),
  },
}

const ListTokens = {
  summary: 'List the caller’s API tokens, newest first',
  response: { 200: Type.Object({ tokens: Type.Array(ApiToken) }), ...refusals(401) },
}

const DeleteToken = {
  summary: 'Delete an API token of the caller',
  description: 'It stops working at once, and its streams end.',
  params: Type.Object({ tokenId: Type.String() }),
  response: { 200: Ok, ...refusals(401, 404) },
}

/** API tokens of people. */
export const tokenRoutes =
  ({ db, clock }: Deps, { confirmed }: Confirmations): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post('/auth/tokens', { schema: CreateToken }, async (request) =>
      confirmed(request, (trx, { id: userId }, { ip, now }) =>
        createToken(trx, { ...request.body, userId }, { caller: request.caller, ip, now }),
      ),
    )

    app.get('/auth/tokens', { schema: ListTokens }, async ({ caller }) => ({
      tokens: await listTokens(db, caller.userId, clock()),
    }))

    app.delete('/auth/tokens/:tokenId', { schema: DeleteToken }, async ({ caller, ip, params }) => {
      const token = { userId: caller.userId, tokenId: params.tokenId }
      const act = { caller, ip, now: clock() }
      if (!(await db.transaction().execute((trx) => deleteToken(trx, token, act)))) throw notFound('token')
      return { success: true as const }
    })
  }
