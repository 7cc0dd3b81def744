import { isRowId, type Reader, type Transaction } from '@parley/database'
import { sql } from 'kysely'

export interface LiveWebhook {
  id: string
  channelId: string
  tokenHash: Buffer
}

/** A webhook that may post: it ends with its channel. */
export const findLiveWebhook = async (db: Reader, id: string): Promise<LiveWebhook | undefined> =>
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
export async function updateLastPostedAt(trx: Transaction, id: string, lastPostedAt: number): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('webhooks')
    .set({ lastPostedAt })
    .where('id', '=', id)
    .where('deletedAt', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

export interface NewPost {
  id: string
  channelId: string
  webhookId: string
  content: string
  mentions: string[]
  createdAt: number
}

/** Stores a message with the next `seq` of its channel, which must be locked. */
export async function insertPost(trx: Transaction, post: NewPost): Promise<void> {
  const { id, channelId, webhookId, content, mentions, createdAt } = post
  await sql`
    with channel as (
      update channels set last_seq = last_seq + 1 where id = ${channelId} returning last_seq
    )
    insert into messages (id, channel_id, seq, webhook_id, content, mentions, created_at)
    select ${id}, ${channelId}, last_seq, ${webhookId}, ${content}, ${mentions.length ? mentions : null}::text[],
      ${createdAt}
    from channel`.execute(trx)
}
