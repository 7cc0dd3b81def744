import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { createBot, deleteBot, findBot, listBots, updateApp } from '@parley/accounts'
import { Bot, invalid, limits, NameText, Ok, ReceiverUrl, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'

const BotParams = Type.Object({ botId: Type.String() })

const CreateBot = {
  summary: 'Add a bot',
  description:
    'A bot is a user without a password: programs act for it with API tokens, and nobody can sign in as it. It does not join channels by itself. ' +
    'A bot is never an admin. Bots cannot be created with an API token.',
  body: Type.Object({
    userName: NameText(limits.userName),
    displayName: Type.Optional(NameText(limits.displayName, { minLength: 0 })),
  }),
  response: { 200: Type.Object({ bot: Bot }), ...refusals(400, 401, 403) },
}

const ListBots = {
  summary: 'List all bots, by name',
  response: { 200: Type.Object({ bots: Type.Array(Bot) }), ...refusals(401, 403) },
}

const UpdateBot = {
  summary: 'Let a bot answer buttons, and replace its signing secret',
  description:
    'A bot with a signing secret is an app. The secret signs the requests to it: commands, clicks on buttons, and event subscriptions in ' +
    'Slack’s format. It is shown once, when it is created. An empty `interactivityUrl` removes the address.',
  params: BotParams,
  body: Type.Object({
    interactivityUrl: Type.Optional(ReceiverUrl),
    signingSecret: Type.Optional(
      Type.Enum(['rotate'], { description: 'Creates a new secret. The old one is no longer used' }),
    ),
  }),
  response: {
    200: Type.Object({
      bot: Bot,
      signingSecret: Type.Optional(Type.String({ description: 'Present only when the secret is new' })),
    }),
    ...refusals(400, 401, 403, 404),
  },
}

const DeleteBot = {
  summary: 'Remove a bot',
  description: 'Its tokens, streams and memberships end at once. Its messages stay.',
  params: BotParams,
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

/** Bots, for admins. Their API tokens are in the service auth. */
export const botRoutes =
  ({ db, seals, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const access = { access: 'admin' } as const
    const withSession = { ...access, tokenScope: 'none' } as const

    app.post('/bots', { schema: CreateBot, config: withSession }, async ({ caller, ip, body }) => ({
      bot: await db.transaction().execute((trx) => createBot(trx, body, { caller, ip, now: clock() })),
    }))

    app.get('/bots', { schema: ListBots, config: access }, async () => ({ bots: await listBots(db) }))

    app.put('/bots/:botId', { schema: UpdateBot, config: access }, async ({ caller, ip, params, body }) => {
      const { botId } = params
      if ((body.interactivityUrl ?? body.signingSecret) === undefined) {
        throw invalid('interactivityUrl or signingSecret is missing')
      }
      return db.transaction().execute(async (trx) => {
        const change = { seals, botId, changes: body }
        const { signingSecret } = await updateApp(trx, change, { caller, ip, now: clock() })
        return { bot: await findBot(trx, botId), ...(signingSecret !== undefined && { signingSecret }) }
      })
    })

    app.delete('/bots/:botId', { schema: DeleteBot, config: access }, async ({ caller, ip, params }) => {
      await db.transaction().execute((trx) => deleteBot(trx, params.botId, { caller, ip, now: clock() }))
      return { success: true as const }
    })
  }
