import { accessChannel, accessConversation, wireChannelId } from '@parley/access'
import { invalid, type Message } from '@parley/contract'
import { type ChannelRow, once, type Transaction, uuidv7 } from '@parley/database'
import { type AccessClaims, type Caller, findCaller } from '@parley/identity'
import { foldEvery, foldReads } from '@parley/read-states'
import type { Deps } from '@parley/service'
import { sql } from 'kysely'
import { recordMessageCreated } from '../messages/messages.events.ts'
import { findMessage, isQuotable } from '../messages/messages.queries.ts'
import { type NewMessageBody, nonceOf, quoteOf } from '../messages/messages.schema.ts'
import { type Files, putUploads } from '../uploads/message-uploads.ts'
import { recipientGone } from './refusal.ts'

export interface FileSend {
  claims: AccessClaims
  kind: 'channel' | 'conversation'
  /** Row id of the channel or conversation. */
  channelId: string
  body: NewMessageBody
  content: string
  mentions: string[]
  idempotency: { key: string; requestHash: string } | null
}

/**
 * Sends a message that has attachments or images, in a transaction of its own: it locks the uploads too, which the shared
 * statement would have to do for everybody. All else is as there: the same locks in the same order, the same answers.
 * Resolves with the JSON text of the Message.
 */
export async function sendWithFiles({ db, pool, clock, logger, wakeRelay }: Deps, send: FileSend): Promise<string> {
  const now = clock()
  const caller = await findCaller(db, send.claims, now)
  const claim = send.idempotency && { userId: caller.userId, ...send.idempotency }

  const sent = await db.transaction().execute(async (trx) => {
    let message: Message | undefined
    const create = async () => {
      const channel = await accessPlace(trx, caller, send)
      message = await insertWithFiles(trx, channel, { ...send, authorId: caller.userId, createdAt: now })
      await recordMessageCreated(trx, channel, message)
      return JSON.stringify(message)
    }
    return { answer: await once(trx, claim, now, create, asItIs), message: message as Message | undefined }
  })

  const { answer, message } = sent
  if (message) wakeRelay()
  if (message && message.seq % foldEvery === 0) {
    foldReads(pool, send.channelId, message.seq).catch((err) =>
      logger.warn({ err }, 'authors could not be entered as readers'),
    )
  }
  return answer
}

/** The answer is a JSON text already. */
const asItIs = { write: (answer: string) => answer, read: (stored: string) => stored }

async function accessPlace(trx: Transaction, caller: Caller, { kind, channelId }: FileSend): Promise<ChannelRow> {
  if (kind === 'channel') return accessChannel(trx, caller, channelId, { lock: true })
  const conversationId = wireChannelId({ id: channelId, kind: 'direct' })
  const conversation = await accessConversation(trx, caller, conversationId, { lock: true })
  const gone = await trx
    .selectFrom('channelMembers')
    .innerJoin('users', 'users.id', 'channelMembers.userId')
    .select('users.id')
    .where('channelId', '=', conversation.id)
    .where('removedAt', 'is not', null)
    .executeTakeFirst()
  if (gone) throw recipientGone()
  return conversation
}

interface NewFileMessage extends FileSend {
  authorId: string
  createdAt: number
}

async function insertWithFiles(trx: Transaction, channel: ChannelRow, message: NewFileMessage): Promise<Message> {
  const { kind, body, authorId } = message
  const quotedMessageId = quoteOf(body)
  if (quotedMessageId !== null && !(await isQuotable(trx, channel, quotedMessageId))) {
    throw invalid(`quotedMessageId must be the id of a message in this ${kind}`)
  }
  const id = uuidv7()
  const files = await putUploads(trx, { id, channelId: channel.id, authorId }, body)
  await insertMessage(trx, { ...message, ...files, id, channelId: channel.id, quotedMessageId })
  return { ...(await findMessage(trx, id)), ...nonceOf(body) }
}

/** Stores a message with the next `seq` of its channel, which must be locked. */
async function insertMessage(
  trx: Transaction,
  message: NewFileMessage & Files & { id: string; quotedMessageId: string | null },
): Promise<void> {
  const { id, channelId, authorId, content, attachments, images, quotedMessageId, mentions, createdAt } = message
  await sql`
    with channel as (
      update channels set last_seq = last_seq + 1 where id = ${channelId} returning last_seq
    )
    insert into messages (id, channel_id, seq, author_id, content, attachments, images, quoted_message_id, mentions,
      created_at)
    select ${id}, ${channelId}, last_seq, ${authorId}, ${content},
      ${attachments.length ? JSON.stringify(attachments) : null}::jsonb, ${images.length ? images : null}::text[],
      ${quotedMessageId}::uuid, ${mentions.length ? mentions : null}::text[], ${createdAt}
    from channel`.execute(trx)
}
