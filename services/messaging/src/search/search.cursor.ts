import { findChannel, requireAccess } from '@parley/access'
import { invalid } from '@parley/contract'
import { type Database, isRowId } from '@parley/database'
import type { Caller } from '@parley/identity'
import type { Cursor } from './search.schema.ts'

/**
 * The place of the message that a search goes on from; a deleted one still has its place.
 * @throws ApiError 400 when there is no such message, or none that the caller may read.
 */
export async function findCursor(db: Database, caller: Caller, messageId: string): Promise<Cursor> {
  const unknown = () => invalid('before must be the id of a message that you can read', 'invalid_cursor')
  if (!isRowId(messageId)) throw unknown()
  const message = await db
    .selectFrom('messages')
    .select(['id', 'createdAt', 'channelId'])
    .where('id', '=', messageId)
    .executeTakeFirst()
  const channel = message && (await findChannel(db, message.channelId, false))
  if (!channel) throw unknown()
  await requireAccess(db, caller, channel).catch((error: { status?: number }) => {
    throw error.status === 403 ? unknown() : error
  })
  return { id: message.id, createdAt: message.createdAt }
}

const webhookPrefix = 'webhook:'

/** The row id of an author as messages name them, removed ones too; null when there never was one. */
export async function findAuthor(db: Database, authorId: string): Promise<string | null> {
  const isWebhook = authorId.startsWith(webhookPrefix)
  const rowId = isWebhook ? authorId.slice(webhookPrefix.length) : authorId
  if (!isRowId(rowId)) return null
  const author = await db
    .selectFrom(isWebhook ? 'webhooks' : 'users')
    .select('id')
    .where('id', '=', rowId)
    .executeTakeFirst()
  return author?.id ?? null
}
