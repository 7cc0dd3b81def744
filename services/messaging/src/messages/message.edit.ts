import { accessMessage } from '@parley/access'
import { forbidden, invalid, type Message } from '@parley/contract'
import type { Database, MessageRow, Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { findMentions } from '../mentions/mentions.ts'
import { changeUploads, type Files } from '../uploads/message-uploads.ts'
import { recordMessageUpdated } from './messages.events.ts'
import { findMessage, isQuotable } from './messages.queries.ts'
import { type MessageBody, type Place, quoteOf, readContent, requirePlace } from './messages.schema.ts'

/**
 * Changes what the author said; what the body does not name (but the content) stays. The event carries the whole
 * message so that clients replace theirs.
 */
export async function editMessage(
  db: Database,
  caller: Caller,
  messageId: string,
  body: MessageBody,
  now: number,
  place: Place = {},
): Promise<Message> {
  const content = readContent(body)
  const mentions = await findMentions(db, content)

  return db.transaction().execute(async (trx) => {
    const { message, channel } = await accessMessage(trx, caller, messageId, { lock: true })
    requirePlace(message, place)
    if (message.authorId !== caller.userId) throw forbidden('Only the author may edit a message')
    const quotedMessageId = body.quotedMessageId === undefined ? message.quotedMessageId : quoteOf(body)
    if (quotedMessageId !== null && quotedMessageId !== message.quotedMessageId) {
      const quotable = quotedMessageId !== message.id && (await isQuotable(trx, channel, quotedMessageId))
      if (!quotable) throw invalid('quotedMessageId must be the id of a message in this channel')
    }

    const files = await changeFiles(trx, message, body, now)
    await updateContent(trx, message.id, { ...files, content, quotedMessageId, mentions }, now)
    const edited = await findMessage(trx, message.id)
    await recordMessageUpdated(trx, channel, edited)

    return edited
  })
}

/** Nothing when the body speaks of none: what the message has then stays, and nothing is asked about it. */
async function changeFiles(trx: Transaction, message: MessageRow, body: MessageBody, now: number) {
  if (!body.attachments && !body.images) return undefined
  const { id, channelId, authorId, attachments, images } = message
  const held = { id, channelId, authorId: authorId!, attachments: attachments ?? [], images: images ?? [] }
  return changeUploads(trx, held, body, now)
}

interface Edit extends Partial<Files> {
  content: string
  quotedMessageId: string | null
  mentions: string[]
}

const updateContent = (trx: Transaction, id: string, edit: Edit, now: number) =>
  trx
    .updateTable('messages')
    .set(({ eb }) => ({
      content: edit.content,
      quotedMessageId: edit.quotedMessageId,
      mentions: edit.mentions.length === 0 ? null : edit.mentions,
      ...(edit.attachments && { attachments: edit.attachments.length === 0 ? null : JSON.stringify(edit.attachments) }),
      ...(edit.images && { images: edit.images.length === 0 ? null : edit.images }),
      updatedAt: now,
      rev: eb('rev', '+', 1),
    }))
    .where('id', '=', id)
    .execute()
