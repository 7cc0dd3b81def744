import { type AccessedMessage, accessMessage, wireChannelId } from '@parley/access'
import { releaseUploads } from '@parley/blobs'
import { forbidden, type Message, type MessageBlock, notFound } from '@parley/contract'
import { anyOf, audit, type ChannelRow, type Database, type MessageRow, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { findMessage, recordMessageDeleted, recordMessageUpdated, recordReplyDeleted } from '@parley/messages'
import { sql } from 'kysely'
import { participantsOf } from '../direct-key.ts'
import { forgetReply, forgetThread } from '../follows/reply-counts.ts'
import { findMentions } from '../mentions/mentions.ts'
import { readTextAndBlocks, requireNotEmpty } from '../message-body.ts'
import type { MessageBody } from '../messages.schema.ts'
import { recordPreviews } from '../previews/link-jobs.ts'
import { keepPreviews } from '../previews/preview-changes.ts'
import { changeUploads, type Files, storedSizes } from '../uploads/message-uploads.ts'
import { quoteOf, requireQuotable, unquotable } from './quotes.ts'

/** The message in the path of a request, and the conversation or thread beside it. The ids of these two are row ids. */
interface MessageInPath {
  messageId: string
  conversationId?: string
  threadId?: string
}

/**
 * Edits a message, which must be in the given conversation or thread. Fields that the body does not have stay as they
 * are. The event carries the whole message, so that clients replace their copy.
 */
export async function editMessage(
  db: Database,
  { caller, now }: { caller: Caller; now: number },
  path: MessageInPath,
  body: MessageBody,
): Promise<Message> {
  const { content, blocks } = readTextAndBlocks(body)
  const mentions = await findMentions(db, content, caller.userId)

  return db.transaction().execute(async (trx) => {
    const { message, channel } = await lockMessage(trx, caller, path)
    if (message.authorId !== caller.userId) throw forbidden('Only the author may edit a message')
    return applyEdit(trx, { message, channel }, { body, content, blocks, mentions }, now)
  })
}

/** @throws ApiError as `accessMessage`, and 404 when the message is not in the conversation or thread of the path. */
async function lockMessage(
  trx: Transaction,
  caller: Caller,
  { messageId, conversationId, threadId }: MessageInPath,
): Promise<AccessedMessage> {
  const { message, channel } = await accessMessage(trx, caller, messageId, { lock: true })
  const isInConversation = channel.kind === 'direct' && channel.id === conversationId
  if (conversationId !== undefined && !isInConversation) throw notFound('message')
  if (threadId !== undefined && threadId !== message.threadId) throw notFound('message')
  return { message, channel }
}

interface Revision {
  body: MessageBody
  content: string
  blocks: MessageBlock[]
  mentions: string[]
}

/**
 * Changes a message. The message and its channel must be locked. The caller must have checked the right to change it.
 * @throws ApiError 400 when the message would be empty afterwards.
 */
export async function applyEdit(
  trx: Transaction,
  { message, channel }: AccessedMessage,
  { body, content, blocks, mentions }: Revision,
  now: number,
): Promise<Message> {
  requireNotEmpty(content, {
    attachments: body.attachments ?? message.attachments,
    images: body.images ?? message.images,
  })

  const quotedMessageId = body.quotedMessageId === undefined ? message.quotedMessageId : quoteOf(body)
  if (quotedMessageId === message.id) throw unquotable(channel)
  if (quotedMessageId !== null && quotedMessageId !== message.quotedMessageId) {
    await requireQuotable(trx, channel, quotedMessageId)
  }

  const files = await changeFiles(trx, message, body, now)
  const previews = await keepPreviews(trx, message, content, now)
  await updateContent(trx, message.id, { ...files, content, blocks, previews, quotedMessageId, mentions }, now)
  await recordPreviews(trx, message.id, content)
  const edited = await findMessage(trx, message.id)
  await recordMessageUpdated(trx, channel, edited)

  return edited
}

/** Undefined when the body has neither attachments nor images: the message keeps its own. */
async function changeFiles(trx: Transaction, message: MessageRow, body: MessageBody, now: number) {
  if (!body.attachments && !body.images) return undefined
  const { id, channelId, authorId, attachments, images, imageSizes } = message
  const files = { attachments: attachments ?? [], images: images ?? [], imageSizes: imageSizes ?? {} }
  return changeUploads(trx, { id, channelId, authorId: authorId!, ...files }, body, { now })
}

interface Edit extends Partial<Files> {
  content: string
  blocks: MessageBlock[]
  previews: string | null
  quotedMessageId: string | null
  mentions: string[]
}

/** Everybody whom the message has mentioned so far; null when it has never mentioned anybody. */
const everMentioned = sql<string[] | null>`nullif(array(select distinct unnest(mentioned_before || mentions)), '{}')`

const updateContent = (trx: Transaction, id: string, edit: Edit, now: number) =>
  trx
    .updateTable('messages')
    .set(({ eb }) => ({
      content: edit.content,
      blocks: edit.blocks.length === 0 ? null : JSON.stringify(edit.blocks),
      previews: edit.previews,
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
  path: MessageInPath,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const { message, channel } = await lockMessage(trx, caller, path)
    requireDeletionRight(caller, message, channel)

    await applyDeletion(trx, { message, channel }, now)
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

/** Deletes a message. The message and its channel must be locked. The caller must have checked the right to delete it. */
export async function applyDeletion(trx: Transaction, { message, channel }: AccessedMessage, now: number) {
  if (message.threadId === null) await forgetThread(trx, channel, message.id)
  await leaveTombstones(trx, message.id, now)
  if (message.threadId === null) return recordMessageDeleted(trx, channel, message)
  await recountReplies(trx, message.threadId)
  await forgetReply(trx, channel, { threadId: message.threadId, seq: message.seq })
  await recordReplyDeleted(trx, channel, message.id, await findMessage(trx, message.threadId))
}

/** The author's id as clients know it. */
const authorIdOf = ({ authorId, webhookId }: MessageRow) => (webhookId === null ? authorId : `webhook:${webhookId}`)

/** Nobody else could delete what an app has said in a conversation of two people, so both of them may. */
function requireDeletionRight(caller: Caller, { authorId }: MessageRow, { kind, directKey }: ChannelRow) {
  if (authorId === caller.userId) return
  if (kind === 'direct') {
    const isOfApp = authorId === null || !participantsOf(directKey!).includes(authorId)
    if (isOfApp) return
    throw forbidden('Only the author may delete a direct message')
  }
  if (!caller.isAdmin) throw forbidden('Only the author or an admin may delete a message')
}

async function leaveTombstones(trx: Transaction, id: string, now: number) {
  const deleted = await trx
    .updateTable('messages')
    .set(({ eb }) => ({
      content: '',
      blocks: null,
      shownAs: null,
      attachments: null,
      images: null,
      imageSizes: null,
      previews: null,
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

/** Counts the remaining replies of a thread again, and raises the parent's `rev`. Served by messages_of_thread. */
async function recountReplies(trx: Transaction, parentId: string): Promise<void> {
  await sql`
    with replies as materialized (
      select author_id, webhook_id, seq, created_at from messages where thread_id = ${parentId} and deleted_at is null
    ), newest as (
      select author_id, webhook_id, created_at from replies order by seq desc limit 1
    ), parent as (
      update messages set rev = rev + 1 where id = ${parentId}
    )
    update threads set
      reply_count = (select count(*) from replies),
      last_reply_at = (select created_at from newest),
      last_reply_by = (select author_id from newest),
      last_reply_webhook = (select webhook_id from newest),
      participants = array(select author_id from replies where author_id is not null group by author_id order by min(seq))
    where message_id = ${parentId}`.execute(trx)
}
