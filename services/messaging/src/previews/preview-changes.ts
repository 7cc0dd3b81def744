import type { AccessedMessage } from '@parley/access'
import { releaseUploads } from '@parley/blobs'
import type { Message, Preview } from '@parley/contract'
import type { MessageRow, Transaction } from '@parley/database'
import { listLinks } from '@parley/markup'
import { findMessage, recordMessageUpdated } from '@parley/messages'

/**
 * Removes the previews for good: the worker adds none to a message whose list is empty, and not null. Records the change,
 * if there were any. The message must be locked.
 */
export async function removePreviews(
  trx: Transaction,
  { message, channel }: AccessedMessage,
  now: number,
): Promise<Message> {
  const { id, rev } = message
  const previews = message.previews ?? []
  const hadAny = previews.length > 0
  const changes = { previews: '[]', rev: hadAny ? rev + 1 : rev }
  await trx.updateTable('messages').set(changes).where('id', '=', id).execute()
  await releaseImages(trx, id, previews, now)
  const updated = await findMessage(trx, id)
  if (hadAny) await recordMessageUpdated(trx, channel, updated)
  return updated
}

/**
 * The column `previews` of a message after an edit: the previews of links that the new content has too. The worker adds
 * those of new links. The message must be locked.
 */
export async function keepPreviews(
  trx: Transaction,
  { id, previews }: Pick<MessageRow, 'id' | 'previews'>,
  content: string,
  now: number,
): Promise<string | null> {
  if (previews === null) return null
  // The author has removed them.
  if (previews.length === 0) return '[]'
  const links = new Set(listLinks(content))
  const kept = previews.filter(({ url }) => links.has(url))
  const dropped = previews.filter(({ url }) => !links.has(url))
  await releaseImages(trx, id, dropped, now)
  return kept.length === 0 ? null : JSON.stringify(kept)
}

async function releaseImages(trx: Transaction, messageId: string, previews: readonly Preview[], now: number) {
  const images = previews.flatMap(({ image }) => image?.name ?? [])
  if (images.length > 0) await releaseUploads(trx, [messageId], now, images)
}
