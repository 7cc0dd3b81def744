import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Id, IdempotencyHeaders, ListedWebhook, limits, NameText, Ok, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { createWebhook, deleteWebhook, renewAddress, takeOverWebhook } from './webhook-changes.ts'
import { listWebhooks } from './webhooks.queries.ts'

const ListWebhooks = {
  summary: 'List the webhooks of this server, oldest first',
  response: { 200: Type.Object({ webhooks: Type.Array(ListedWebhook) }), ...refusals(401, 403) },
}

const WebhookUrl = Type.String({ description: 'Address that accepts payloads of Slack’s incoming webhooks' })

const CreateWebhook = {
  summary: 'Create a webhook that posts to one channel',
  description:
    'The response has the token and the address of the webhook. They are not shown again, except to a request that is repeated with the ' +
    'same `Idempotency-Key`.',
  headers: IdempotencyHeaders,
  body: Type.Object({ name: NameText(limits.webhookName), channelId: Id }),
  response: {
    200: Type.Object({
      webhook: Type.Object({
        ...ListedWebhook.properties,
        token: Type.String({ description: 'Bearer token with which the webhook posts' }),
        url: WebhookUrl,
      }),
    }),
    ...refusals(400, 401, 403, 409),
  },
}

const TakeOverWebhook = {
  summary: 'Become responsible for a webhook whose admin has left or is no longer an admin',
  description:
    'The caller becomes its `createdBy`. With `renewToken` the webhook gets a new token and a new address, because the person who left ' +
    'may know the old ones. They are shown only once.',
  params: Type.Object({ webhookId: Id }),
  body: Type.Object({ renewToken: Type.Boolean({ default: false }) }),
  response: {
    200: Type.Object({
      webhook: Type.Object({
        ...ListedWebhook.properties,
        token: Type.Optional(Type.String({ description: 'The new token, with `renewToken`' })),
        url: Type.Optional(WebhookUrl),
      }),
    }),
    ...refusals(400, 401, 403, 404),
  },
}

const RenewAddress = {
  summary: 'Give a webhook a new address',
  description: 'The new address is in the response and is not shown again. The old address stops working.',
  params: Type.Object({ webhookId: Id }),
  response: { 200: Type.Object({ url: WebhookUrl }), ...refusals(401, 403, 404) },
}

const DeleteWebhook = {
  summary: 'Delete a webhook',
  description: 'Its token stops working. Its messages stay, under its name.',
  params: Type.Object({ webhookId: Id }),
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

/** Messages of webhooks are posted through the messaging service. */
export const webhookRoutes =
  (deps: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, clock } = deps
    const config = { access: 'admin' } as const

    app.get('/webhooks', { schema: ListWebhooks, config }, async () => ({ webhooks: await listWebhooks(db) }))

    app.post('/webhooks', { schema: CreateWebhook, config }, async ({ caller, ip, headers, body }) => ({
      webhook: await createWebhook(deps, { caller, ip, now: clock() }, body, headers['idempotency-key']),
    }))

    app.post(
      '/webhooks/:webhookId/take-over',
      { schema: TakeOverWebhook, config },
      async ({ caller, ip, params, body }) => ({
        webhook: await takeOverWebhook(deps, { caller, ip, now: clock() }, params.webhookId, body),
      }),
    )

    app.post('/webhooks/:webhookId/url', { schema: RenewAddress, config }, async ({ caller, ip, params }) => ({
      url: await renewAddress(deps, { caller, ip, now: clock() }, params.webhookId),
    }))

    app.delete('/webhooks/:webhookId', { schema: DeleteWebhook, config }, async ({ caller, ip, params }) => {
      await deleteWebhook(db, { caller, ip, now: clock() }, params.webhookId)
      return { success: true as const }
    })
  }
