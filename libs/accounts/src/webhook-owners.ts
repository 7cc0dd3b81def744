import { onlyUsers } from '@parley/contract'
import { audit, record, type Transaction } from '@parley/database'

interface OwnedWebhook {
  id: string
  name: string
  channelId: string
  /** The admin who is responsible for it: the one who created it or took it over. */
  createdBy: string
}

/**
 * Records UPDATE_WEBHOOK for all admins: nobody is responsible for these webhooks any more, or somebody is again. Call
 * it in the transaction of that change, after the change.
 */
export async function recordWebhookOwnership(
  trx: Transaction,
  webhooks: readonly OwnedWebhook[],
  { isOrphaned }: { isOrphaned: boolean },
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

/**
 * Call it when somebody has left or is no longer an admin. Their webhooks can still post, so the other admins get an
 * event, and the audit log an entry.
 */
export async function orphanWebhooksOf(
  trx: Transaction,
  userId: string,
  { actorId, ip }: { actorId: string; ip: string | null },
): Promise<void> {
  const webhooks = await listWebhooksOf(trx, userId)
  await recordWebhookOwnership(trx, webhooks, { isOrphaned: true })
  for (const { id, name, channelId, createdBy } of webhooks) {
    const metadata = { name, channelId, createdBy }
    await audit(trx, { action: 'webhook.orphan', actorId, targetType: 'webhook', targetId: id, metadata, ip })
  }
}

/** The live webhooks for which somebody is responsible. A webhook of a deleted channel counts as deleted. */
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
