import { accessMessage, wireChannelId } from '@parley/access'
import { releaseUploads } from '@parley/blobs'
import { forbidden, type Message } from '@parley/contract'
import { anyOf, audit, type ChannelRow, type Database, type MessageRow, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { sql } from 'kysely'
import { findMentions } from '../mentions/mentions.ts'
import { changeUploads, type Files, storedSizes } from '../uploads/message-uploads.ts'
import { recordMessageDeleted, recordMessageUpdated, recordReplyDeleted } from './messages.events.ts'
import { findMessage, requireQuotable } from './messages.queries.ts'
import {
  type MessageBody,
  type MessageLocation,
  quoteOf,
  readContent,
  requireLocation,
  unquotable,
} from './messages.schema.ts'

/**
 * Changes what a message says. Parts that the body does not name stay. The event carries the whole message, so that clients
 * replace theirs.
 */
export async function editMessage(
  db: Database,
  caller: Caller,
  messageId: string,
  body: MessageBody,
  now: number,
  location: MessageLocation = {},
): Promise<Message> {
  const content = readContent(body)
  const mentions = await findMentions(db, content)

  return db.transaction().execute(async (trx) => {
    const { message, channel } = await accessMessage(trx, caller, messageId, { lock: true })
    requireLocation(message, location)
    if (message.authorId !== caller.userId) throw forbidden('Only the author may edit a message')
    const quotedMessageId = body.quotedMessageId === undefined ? message.quotedMessageId : quoteOf(body)
    if (quotedMessageId === message.id) throw unquotable(channel)
    if (quotedMessageId !== null && quotedMessageId !== message.quotedMessageId) {
      await requireQuotable(trx, channel, quotedMessageId)
    }

    const files = await changeFiles(trx, message, body, now)
    await updateContent(trx, message.id, { ...files, content, quotedMessageId, mentions }, now)
    const edited = await findMessage(trx, message.id)
    await recordMessageUpdated(trx, channel, edited)

    return edited
  })
}

/** Undefined when the body names neither attachments nor images: the message keeps its own. */
async function changeFiles(trx: Transaction, message: MessageRow, body: MessageBody, now: number) {
  if (!body.attachments && !body.images) return undefined
  const { id, channelId, authorId, attachments, images, imageSizes } = message
  const files = { attachments: attachments ?? [], images: images ?? [], imageSizes: imageSizes ?? {} }
  return changeUploads(trx, { id, channelId, authorId: authorId!, ...files }, body, now)
}

interface Edit extends Partial<Files> {
  content: string
  quotedMessageId: string | null
  mentions: string[]
}

/** Everybody whom the message has mentioned so far; null when that is nobody. */
const everMentioned = sql<string[] | null>`nullif(array(select distinct unnest(mentioned_before || mentions)), '{}')`

const updateContent = (trx: Transaction, id: string, edit: Edit, now: number) =>
  trx
    .updateTable('messages')
    .set(({ eb }) => ({
      content: edit.content,
      quotedMessageId: edit.quotedMessageId,
      mentions: edit.mentions.length === 0 ? null : edit.mentions,
      mentionedBefore: everMentioned,
      ...(edit.attachments && { attachments: edit.attachments.length === 0 ? null : JSON.stringify(edit.attachments) }),
      ...(edit.images && { images: edit.images.length === 0 ? null : edit.images }),
      ...(edit.imageSizes && { imageSizes: storedSizes(edit.imageSizes) }),
      updatedAt: now,
      rev: eb('rev', '+', 1),
    }))
    .where('id', '=', id)
    .execute()

/**
 * Deletes a message and its replies. A tombstone without content remains, so that sequence numbers and the cursors of
 * listings stay valid.
 */
export async function deleteMessage(
  db: Database,
  { caller, ip, now }: { caller: Caller; ip: string; now: number },
  messageId: string,
  location: MessageLocation = {},
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const { message, channel } = await accessMessage(trx, caller, messageId, { lock: true })
    requireLocation(message, location)
    requireDeletionRight(caller, message, channel)

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

function requireDeletionRight(caller: Caller, { authorId }: MessageRow, { kind }: ChannelRow) {
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
      imageSizes: null,
      quotedMessageId: null,
      mentions: null,
      mentionedBefore: everMentioned,
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

/** Counts the remaining replies of a thread anew, and raises the parent's `rev`. Served by messages_of_thread. */
async function recountReplies(trx: Transaction, parentId: string): Promise<void> {
  await sql`
    with replies as materialized (
      select author_id, seq, created_at from messages where thread_id = ${parentId} and deleted_at is null
    ), newest as (
      select author_id, created_at from replies order by seq desc limit 1
    ), parent as (
      update messages set rev = rev + 1 where id = ${parentId}
    )
    update threads set
      reply_count = (select count(*) from replies),
      last_reply_at = (select created_at from newest),
      last_reply_by = (select author_id from newest),
      participants = array(select author_id from replies group by author_id order by min(seq))
    where message_id = ${parentId}`.execute(trx)
}
