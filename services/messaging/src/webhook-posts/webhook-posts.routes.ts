import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { findChannel } from '@parley/access'
import { type AttemptLimit, countAttempt } from '@parley/accounts'
import { Id, IdempotencyHeaders, limits, Message, notFound, refusals, tooMany, unauthorized } from '@parley/contract'
import { isRowId, type Reader, type Transaction, uuidv7 } from '@parley/database'
import { isWebhookToken } from '@parley/identity'
import { bearerToken, type Deps, sendJsonText } from '@parley/service'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { findMentions } from '../mentions/mentions.ts'
import { readContent, requestHash } from '../messages/messages.schema.ts'
import { postOnce, storeMessage } from '../sending/new-message.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The webhook whose token was shown, on the routes of webhooks. */
    webhook: LiveWebhook
  }
}

interface LiveWebhook {
  id: string
  channelId: string
  tokenHash: Buffer
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
  (deps: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.decorateRequest('webhook', null as unknown as LiveWebhook)

    // Before the body is read, as with people.
    async function onRequest(request: FastifyRequest) {
      const { webhookId } = request.params as { webhookId: string }
      const webhook = await findLiveWebhook(deps.db, webhookId)
      if (!webhook) throw notFound('webhook')
      if (!isWebhookToken(bearerToken(request), webhook.tokenHash)) {
        throw unauthorized('The token does not belong to this webhook')
      }
      request.webhook = webhook
    }

    const route = { schema: PostByWebhook, config: { access: 'none' }, onRequest } as const
    app.post('/webhooks/:webhookId/messages', route, async ({ webhook, headers, body: { content } }, reply) => {
      const message = await createPost(deps, webhook, { content }, headers['idempotency-key'])
      return sendJsonText(reply, `{"message":${message}}`)
    })
  }

/**
 * Posts to the webhook's channel. Refused and repeated posts do not count. Answers the JSON text of the Message.
 * @throws ApiError 400, 404 when webhook or channel were deleted meanwhile, 409 and 429.
 */
async function createPost(
  deps: Deps,
  webhook: LiveWebhook,
  body: { content: string },
  key: string | undefined,
): Promise<string> {
  const content = readContent(body)
  const mentions = await findMentions(deps.db, content)
  const now = deps.clock()
  const where = `webhook ${webhook.id}`
  const claim = key === undefined ? null : { userId: webhook.id, key, requestHash: requestHash(where, body) }

  return postOnce(deps, claim, now, async (trx) => {
    await refuseTooManyPosts(trx, webhook, deps.config.webhooks.perMinute, now)
    const channel = await findChannel(trx, webhook.channelId, true)
    if (!channel || !(await updateLastPostedAt(trx, webhook.id, now))) throw notFound('webhook')
    const message = { content, mentions, quotedMessageId: null, createdAt: now }
    return storeMessage(trx, channel, { ...message, id: uuidv7(), author: { webhookId: webhook.id } })
  })
}

/** A program that has gone wild must not bury a channel. */
async function refuseTooManyPosts(trx: Transaction, { id }: LiveWebhook, perMinute: number, now: number) {
  const limit: AttemptLimit = { kind: 'webhook post', most: perMinute, windowMs: 60_000 }
  const seconds = await countAttempt(trx, limit, id, now)
  if (seconds > 0) throw tooMany('This webhook posts too often. Please slow down', seconds)
}

/** A webhook that may post: it ends with its channel. */
const findLiveWebhook = async (db: Reader, id: string): Promise<LiveWebhook | undefined> =>
  isRowId(id)
    ? db
        .selectFrom('webhooks')
        .innerJoin('channels', 'channels.id', 'webhooks.channelId')
        .select(['webhooks.id', 'webhooks.channelId', 'webhooks.tokenHash'])
        .where('webhooks.id', '=', id)
        .where('webhooks.deletedAt', 'is', null)
        .where('channels.deletedAt', 'is', null)
        .executeTakeFirst()
    : undefined

/** Notes when a webhook posts; answers false when it was deleted meanwhile. */
async function updateLastPostedAt(trx: Transaction, id: string, lastPostedAt: number): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('webhooks')
    .set({ lastPostedAt })
    .where('id', '=', id)
    .where('deletedAt', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}
