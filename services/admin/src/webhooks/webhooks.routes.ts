import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Id, limits, Ok, refusals, Webhook } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { createWebhook, deleteWebhook } from './webhook.changes.ts'
import { listWebhooks } from './webhooks.queries.ts'

const ListWebhooks = {
  summary: 'The webhooks of this server, oldest first',
  response: { 200: Type.Object({ webhooks: Type.Array(Webhook) }), ...refusals(401, 403) },
}

const CreateWebhook = {
  summary: 'Create a webhook that posts to one channel',
  description: 'The answer has its token, which is shown this once and never again.',
  body: Type.Object({ name: Type.String({ minLength: 1, maxLength: limits.webhookName }), channelId: Id }),
  response: {
    200: Type.Object({
      webhook: Type.Object({ ...Webhook.properties, token: Type.String({ description: 'Its Bearer token' }) }),
    }),
    ...refusals(400, 401, 403),
  },
}

const DeleteWebhook = {
  summary: 'Delete a webhook',
  description: 'Its token works no more; what it posted stays, under its name.',
  params: Type.Object({ webhookId: Id }),
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

/** Posting by a webhook is messaging's. */
export const webhookRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const config = { access: 'admin' } as const

    app.get('/webhooks', { schema: ListWebhooks, config }, async () => ({ webhooks: await listWebhooks(db) }))

    app.post('/webhooks', { schema: CreateWebhook, config }, async ({ caller, ip, body }) => ({
      webhook: await createWebhook(db, { caller, ip, now: clock() }, body),
    }))

    app.delete('/webhooks/:webhookId', { schema: DeleteWebhook, config }, async ({ caller, ip, params }) => {
      await deleteWebhook(db, { caller, ip, now: clock() }, params.webhookId)
      return { success: true as const }
    })
  }
