import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Id, IdempotencyHeaders, limits, Message, notFound, refusals, unauthorized } from '@parley/contract'
import { isWebhookToken } from '@parley/identity'
import { foldEvery, foldReads } from '@parley/read-states'
import { bearerToken, type Deps } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { createPost } from './webhook-post.creation.ts'
import { findLiveWebhook, type LiveWebhook } from './webhook-posts.queries.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set where a webhook posts: the one whose token was shown. */
    webhook: LiveWebhook
  }
}

const PostByWebhook = {
  summary: 'Post to the channel of a webhook',
  description:
    'With the token of the webhook, which works on nothing else; at most `webhooks.perMinute` posts a minute. Safe to repeat with the same ' +
    '`Idempotency-Key`: within 24 hours it gets the first answer again.',
  security: [{ webhookToken: [] }],
  params: Type.Object({ webhookId: Id }),
  headers: IdempotencyHeaders,
  body: Type.Object({ content: Type.String({ maxLength: limits.content }) }),
  response: { 200: Type.Object({ message: Message }), ...refusals(400, 401, 404, 409, 429) },
}

export const webhookPostRoutes =
  ({ config, db, pool, clock, logger }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.decorateRequest('webhook', null as unknown as LiveWebhook)

    // As with people, before the body is read.
    async function onRequest(request: FastifyRequest) {
      const { webhookId } = request.params as { webhookId: string }
      const webhook = await findLiveWebhook(db, webhookId)
      if (!webhook) throw notFound('webhook')
      if (!isWebhookToken(bearerToken(request), webhook.tokenHash)) {
        throw unauthorized('The token does not belong to this webhook')
      }
      request.webhook = webhook
    }

    const route = { schema: PostByWebhook, config: { access: 'none' }, onRequest } as const
    app.post('/webhooks/:webhookId/messages', route, async ({ webhook, headers, body: { content } }) => {
      const message = await createPost(db, {
        webhook,
        content,
        key: headers['idempotency-key'],
        perMinute: config.webhooks.perMinute,
        now: clock(),
      })
      if (message.seq % foldEvery === 0) fold(webhook.channelId, message.seq)
      return { message }
    })

    /** Nobody waits for it, as after any other message. */
    function fold(channelId: string, seq: number) {
      foldReads(pool, channelId, seq).catch((err) => logger.warn({ err }, 'authors could not be entered as readers'))
    }
  }
