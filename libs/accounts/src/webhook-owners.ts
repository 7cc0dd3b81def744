import { onlyUsers } from '@parley/contract'
import { audit, record, type Transaction } from '@parley/database'

export interface OwnedWebhook {
  id: string
  name: string
  channelId: string
  /** Who answers for it: who created it, or took it over. */
  createdBy: string
}

/**
 * Tells all admins that webhooks have lost the admin who answers for them, or have one again (UPDATE_WEBHOOK). To be called in the
 * transaction of that change, after it.
 */
export async function announceWebhooks(
  trx: Transaction,
  webhooks: readonly OwnedWebhook[],
  isOrphaned: boolean,
): Promise<void> {
  if (webhooks.length === 0) return
  const admins = await trx
    .selectFrom('users')
    .select('id')
    .where('isAdmin', '=', true)
    .where('removedAt', 'is', null)
    .orderBy('id')
    .execute()
  const routing = onlyUsers(...admins.map(({ id }) => id))
  for (const { id, name, channelId, createdBy } of webhooks) {
    await record(trx, { type: 'UPDATE_WEBHOOK', payload: { id, name, channelId, createdBy, isOrphaned }, routing })
  }
}

/** Somebody is an admin no longer, or has left: their webhooks go on posting, so the admins learn of it and it is written down. */
export async function orphanWebhooksOf(
  trx: Transaction,
  userId: string,
  { actorId, ip }: { actorId: string; ip: string | null },
): Promise<void> {
  const webhooks = await listWebhooksOf(trx, userId)
  await announceWebhooks(trx, webhooks, true)
  for (const { id, name, channelId, createdBy } of webhooks) {
    const metadata = { name, channelId, createdBy }
    await audit(trx, { action: 'webhook.orphan', actorId, targetType: 'webhook', targetId: id, metadata, ip })
  }
}

/** The live webhooks that somebody answers for. A webhook ends with its channel. */
export const listWebhooksOf = (trx: Transaction, userId: string): Promise<OwnedWebhook[]> =>
  trx
    .selectFrom('webhooks')
    .innerJoin('channels', 'channels.id', 'webhooks.channelId')
    .select(['webhooks.id', 'webhooks.name', 'webhooks.channelId', 'webhooks.createdBy'])
    .where('webhooks.createdBy', '=', userId)
    .where('webhooks.deletedAt', 'is', null)
    .where('channels.deletedAt', 'is', null)
    .orderBy('webhooks.id')
    .execute()
