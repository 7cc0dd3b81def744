import { accessMessage, wireChannelId } from '@parley/access'
import { releaseUploads } from '@parley/blobs'
import { forbidden } from '@parley/contract'
import { anyOf, audit, type ChannelRow, type Database, type MessageRow, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { recountReplies } from '../threads/threads.queries.ts'
import { recordMessageDeleted, recordReplyDeleted } from './messages.events.ts'
import { findMessage } from './messages.queries.ts'
import { type Place, requirePlace } from './messages.schema.ts'

/**
 * Deletes a message and its replies. What is left is a tombstone without content: sequence numbers and the cursors of
 * listings survive.
 */
export async function deleteMessage(
  db: Database,
  { caller, ip, now }: { caller: Caller; ip: string; now: number },
  messageId: string,
  place: Place = {},
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const { message, channel } = await accessMessage(trx, caller, messageId, { lock: true })
    requirePlace(message, place)
    requireRight(caller, message, channel)

    await leaveTombstones(trx, message.id, now)
    if (message.threadId === null) {
      await recordMessageDeleted(trx, channel, message)
    } else {
      await recountReplies(trx, message.threadId)
      await recordReplyDeleted(trx, channel, message.id, await findMessage(trx, message.threadId))
    }

    if (message.authorId !== caller.userId) {
      await audit(trx, {
        action: 'message.delete',
        actorId: caller.userId,
        targetType: 'message',
        targetId: message.id,
        metadata: { channelId: wireChannelId(channel), authorId: authorIdOf(message) },
        ip,
      })
    }
  })
}

/** As clients know it. */
const authorIdOf = ({ authorId, webhookId }: MessageRow) => (webhookId === null ? authorId : `webhook:${webhookId}`)

function requireRight(caller: Caller, { authorId }: MessageRow, { kind }: ChannelRow) {
  if (authorId === caller.userId) return
  if (kind === 'direct') throw forbidden('Only the author may delete a direct message')
  if (!caller.isAdmin) throw forbidden('Only the author or an admin may delete a message')
}

async function leaveTombstones(trx: Transaction, id: string, now: number) {
  const deleted = await trx
    .updateTable('messages')
    .set(({ eb }) => ({
      content: '',
      attachments: null,
      images: null,
      quotedMessageId: null,
      mentions: null,
      pinnedAt: null,
      deletedAt: now,
      rev: eb('rev', '+', 1),
    }))
    .where('deletedAt', 'is', null)
    .where(({ eb, or }) => or([eb('id', '=', id), eb('threadId', '=', id)]))
    .returning('id')
    .execute()
  const ids = deleted.map((row) => row.id)
  await trx.deleteFrom('reactions').where('messageId', '=', anyOf(ids)).execute()
  await releaseUploads(trx, ids, now)
  await trx.deleteFrom('threads').where('messageId', '=', id).execute()
}
