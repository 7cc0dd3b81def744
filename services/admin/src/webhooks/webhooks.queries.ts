import type { ListedWebhook } from '@parley/contract'
import { isRowId, type Reader, type Tables, type Transaction } from '@parley/database'
import { type Insertable, sql, type Updateable } from 'kysely'

/** The live webhooks. A webhook of a deleted channel counts as deleted. */
const selectLive = (db: Reader) =>
  db
    .selectFrom('webhooks')
    .innerJoin('channels', 'channels.id', 'webhooks.channelId')
    .where('webhooks.deletedAt', 'is', null)
    .where('channels.deletedAt', 'is', null)
    .select([
      'webhooks.id',
      'webhooks.name',
      'webhooks.channelId',
      'webhooks.createdAt',
      'webhooks.createdBy',
      'webhooks.lastPostedAt',
      sql<boolean>`not exists (
        select from users u where u.id = webhooks.created_by and u.is_admin
          and u.removed_at is null and u.deactivated_at is null)`.as('isOrphaned'),
    ])

/** All webhooks, oldest first. */
export const listWebhooks = (db: Reader): Promise<ListedWebhook[]> =>
  selectLive(db).orderBy('webhooks.createdAt').orderBy('webhooks.id').execute()

export const findWebhook = async (db: Reader, id: string): Promise<ListedWebhook | undefined> =>
  isRowId(id) ? selectLive(db).where('webhooks.id', '=', id).executeTakeFirst() : undefined

export const insertWebhook = (trx: Transaction, row: Insertable<Tables['webhooks']>) =>
  trx.insertInto('webhooks').values(row).execute()

/** Returns false when it was deleted in the meantime. */
export async function markWebhookDeleted(trx: Transaction, id: string, deletedAt: number): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('webhooks')
    .set({ deletedAt })
    .where('id', '=', id)
    .where('deletedAt', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Changes the owner of a webhook, its token or the secret of its address. Returns false when it was deleted in the meantime. */
export async function updateWebhook(
  trx: Transaction,
  id: string,
  row: Pick<Updateable<Tables['webhooks']>, 'createdBy' | 'tokenHash' | 'secretHash'>,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('webhooks')
    .set(row)
    .where('id', '=', id)
    .where('deletedAt', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}
