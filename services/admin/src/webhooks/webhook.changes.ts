import { findChannel } from '@parley/access'
import { type Act, readName } from '@parley/accounts'
import { audienceOf, invalid, limits, notFound, type Webhook } from '@parley/contract'
import { audit, type Database, record, uuidv7 } from '@parley/database'
import { createWebhookToken } from '@parley/identity'
import { findWebhook, insertWebhook, markWebhookDeleted } from './webhooks.queries.ts'

/**
 * Creates a webhook and tells the channel (NEW_WEBHOOK). The token is nowhere but in the answer.
 * @throws ApiError 400 when the name is refused, or there is no such channel.
 */
export function createWebhook(
  db: Database,
  { caller, ip, now }: Act,
  wish: { name: string; channelId: string },
): Promise<Webhook & { token: string }> {
  const name = readName(wish.name, 'name', limits.webhookName)
  const { token, tokenHash } = createWebhookToken()

  return db.transaction().execute(async (trx) => {
    const channel = await findChannel(trx, wish.channelId, true)
    if (!channel || channel.kind === 'direct') throw invalid('There is no such channel')

    const webhook = { id: uuidv7(), name, channelId: channel.id, createdBy: caller.userId, createdAt: now }
    await insertWebhook(trx, { ...webhook, tokenHash })
    await record(trx, {
      type: 'NEW_WEBHOOK',
      payload: { id: webhook.id, name, channelId: channel.id },
      routing: audienceOf(channel),
    })
    await audit(trx, {
      action: 'webhook.create',
      actorId: caller.userId,
      targetType: 'webhook',
      targetId: webhook.id,
      metadata: { name, channelId: channel.id },
      ip,
    })

    return { ...webhook, lastPostedAt: null, token }
  })
}

/** Deletes a webhook and tells the channel (DELETE_WEBHOOK). @throws ApiError 404 when there is no such webhook. */
export function deleteWebhook(db: Database, { caller, ip, now }: Act, webhookId: string): Promise<void> {
  return db.transaction().execute(async (trx) => {
    const webhook = await findWebhook(trx, webhookId)
    const channel = webhook && (await findChannel(trx, webhook.channelId, true))
    if (!channel || !(await markWebhookDeleted(trx, webhook.id, now))) throw notFound('webhook')

    await record(trx, {
      type: 'DELETE_WEBHOOK',
      payload: { id: webhook.id, channelId: channel.id },
      routing: audienceOf(channel),
    })
    await audit(trx, {
      action: 'webhook.delete',
      actorId: caller.userId,
      targetType: 'webhook',
      targetId: webhook.id,
      metadata: { name: webhook.name, channelId: channel.id },
      ip,
    })
  })
}
