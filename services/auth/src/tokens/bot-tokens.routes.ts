import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { createToken, deleteToken, isBot, listTokens, lockBot } from '@parley/accounts'
import { ApiToken, NewApiToken, notFound, Ok, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { type Confirmations, confirmationFields } from '../second-factors/confirmations.ts'

const BotParams = Type.Object({ botId: Type.String() })

const CreateBotToken = {
  summary: 'Create an API token for a bot',
  description:
    'The token is shown only in this response. The scope `admin` is refused, because a bot is not an admin. Tokens cannot be created with ' +
    'an API token. Unless the admin signed in during the last ten minutes, they confirm it in the body as for `POST /auth/tokens`.',
  params: BotParams,
  body: Type.Object({ ...NewApiToken.properties, ...confirmationFields }),
  response: {
    200: Type.Object({ ...ApiToken.properties, token: Type.String() }),
    ...refusals(400, 401, 403, 404, 429),
  },
}

const ListBotTokens = {
  summary: 'List the API tokens of a bot, newest first',
  params: BotParams,
  response: { 200: Type.Object({ tokens: Type.Array(ApiToken) }), ...refusals(401, 403, 404) },
}

const DeleteBotToken = {
  summary: 'Delete an API token of a bot',
  description: 'It stops working at once, and its streams end.',
  params: Type.Object({ ...BotParams.properties, tokenId: Type.String() }),
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

/** API tokens of bots, for admins. The bots themselves are in the service directory. */
export const botTokenRoutes =
  ({ db, clock }: Deps, { confirmed }: Confirmations): FastifyPluginAsyncTypebox =>
  async (app) => {
    const access = { access: 'admin' } as const
    const withSession = { ...access, tokenScope: 'none' } as const

    app.post('/bots/:botId/tokens', { schema: CreateBotToken, config: withSession }, async (request) => {
      const { caller, params, body } = request
      return confirmed(
        request,
        (trx, _, { ip, now }) => createToken(trx, { ...body, userId: params.botId }, { caller, ip, now }),
        (trx, { ip, now }) => lockBot(trx, params.botId, { caller, ip, now }),
      )
    })

    app.get('/bots/:botId/tokens', { schema: ListBotTokens, config: access }, async ({ params }) => {
      if (!(await isBot(db, params.botId))) throw notFound('bot')
      return { tokens: await listTokens(db, params.botId, clock()) }
    })

    app.delete('/bots/:botId/tokens/:tokenId', { schema: DeleteBotToken, config: access }, async (request) => {
      const { caller, ip, params } = request
      const context = { caller, ip, now: clock() }
      await db.transaction().execute(async (trx) => {
        await lockBot(trx, params.botId, context)
        const token = { userId: params.botId, tokenId: params.tokenId }
        if (!(await deleteToken(trx, token, context))) throw notFound('token')
      })
      return { success: true as const }
    })
  }
