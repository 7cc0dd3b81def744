import { type AccessedMessage, accessMessage } from '@parley/access'
import { invalid, type Message, type ThreadMeta } from '@parley/contract'
import { type Database, once, type Reader, type Transaction, uuidv7 } from '@parley/database'
import type { Caller } from '@parley/identity'
import { findMentions } from '../mentions/mentions.ts'
import { recordReplyCreated } from '../messages/messages.events.ts'
import { findMessage, isQuotable } from '../messages/messages.queries.ts'
import { type NewMessageBody, nonceOf, quoteOf, readContent } from '../messages/messages.schema.ts'
import { requestHash } from '../sending/idempotency.ts'
import { putUploads } from '../uploads/message-uploads.ts'
import { insertReply } from './threads.queries.ts'

export interface CreatedReply {
  reply: Message
  threadMeta: ThreadMeta
  /** `rev` of the parent that has this `threadMeta`. */
  parentRev: number
}

export interface ReplyRequest {
  caller: Caller
  parentId: string
  body: NewMessageBody
  /** `Idempotency-Key`. */
  key: string | undefined
  now: number
}

/**
 * Replies to a message of a channel and tells the channel. The channel's lock is the thread's too: `seq` and what the
 * parent says of its replies are exact however many reply at once.
 */
export async function createReply(db: Database, request: ReplyRequest): Promise<CreatedReply> {
  const { caller, parentId, body, key, now } = request
  const content = readContent(body)
  const mentions = await findMentions(db, content)
  const claim =
    key === undefined ? null : { userId: caller.userId, key, requestHash: requestHash(`reply to ${parentId}`, body) }

  return db.transaction().execute((trx) => once(trx, claim, now, create, stored))

  async function create(trx: Transaction): Promise<CreatedReply> {
    const { message: parent, channel } = await accessParent(trx, caller, parentId, { lock: true })
    const quotedMessageId = quoteOf(body)
    if (quotedMessageId !== null && !(await isQuotable(trx, channel, quotedMessageId))) {
      throw invalid('quotedMessageId must be the id of a message in this channel')
    }

    const id = uuidv7()
    const place = { id, channelId: channel.id, parentId: parent.id, authorId: caller.userId }
    const files = await putUploads(trx, place, body)
    await insertReply(trx, { ...body, ...files, ...place, content, mentions, createdAt: now })
    return recordCreated(trx, { message: parent, channel }, id, body)
  }
}

/** An answer that the version before has stored has no parentRev: 0 is older than what any client has. */
const stored = {
  write: (created: CreatedReply) => JSON.stringify(created),
  read: (text: string): CreatedReply => ({ parentRev: 0, ...JSON.parse(text) }),
}

async function recordCreated(
  trx: Transaction,
  { message, channel }: AccessedMessage,
  id: string,
  body: NewMessageBody,
): Promise<CreatedReply> {
  const reply = { ...(await findMessage(trx, id)), ...nonceOf(body) }
  const parent = await findMessage(trx, message.id)
  await recordReplyCreated(trx, channel, reply, parent)
  return { reply, threadMeta: parent.threadMeta!, parentRev: parent.rev }
}

/** A message that may have replies. @throws ApiError 400 when it is a direct message or a reply itself. */
export async function accessParent(
  db: Reader,
  caller: Caller,
  messageId: string,
  options: { lock?: boolean } = {},
): Promise<AccessedMessage> {
  const accessed = await accessMessage(db, caller, messageId, options)
  if (accessed.channel.kind === 'direct') throw invalid('Direct messages cannot have threads')
  if (accessed.message.threadId !== null) throw invalid('A reply cannot have a thread of its own')
  return accessed
}
