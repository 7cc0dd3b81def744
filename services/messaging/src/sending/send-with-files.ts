import { accessChannel, accessConversation, requireRecipient, wireChannelId } from '@parley/access'
import type { MessageBlock } from '@parley/contract'
import { type ChannelRow, type RequestKey, type Transaction, uuidv7 } from '@parley/database'
import { type Caller, findCaller } from '@parley/identity'
import type { Deps } from '@parley/service'
import { requireQuotable } from '../messages/message-changes.ts'
import type { NewMessageBody } from '../messages.schema.ts'
import { putUploads } from '../uploads/message-uploads.ts'
import { joinToPost } from './joining.ts'
import { postOnce, storeMessage } from './new-message.ts'
import type { SendRequest } from './send-statement.ts'

/**
 * Sends a message that has attachments, images or blocks. It needs a separate transaction, because it locks the uploads too. It takes
 * locks in the same order as the shared statement, and refuses the same requests. Returns the JSON text of the Message.
 */
export async function sendWithFiles(
  deps: Deps,
  request: SendRequest,
  body: NewMessageBody,
  blocks: readonly MessageBlock[],
): Promise<string> {
  const { quotedMessageId, idempotency } = request
  const now = deps.clock()
  const caller = await findCaller(deps.db, request.caller, now)
  const claim: RequestKey | null = idempotency && { userId: caller.userId, ...idempotency }

  return postOnce(deps, claim, now, async (trx) => {
    if (request.kind === 'channel') await joinToPost(trx, { ...deps, caller, now }, request)
    const channel = await accessTarget(trx, caller, request)
    if (quotedMessageId !== null) await requireQuotable(trx, channel, quotedMessageId)
    const id = uuidv7()
    const files = await putUploads(trx, { id, channelId: channel.id, authorId: caller.userId }, body)
    return storeMessage(trx, channel, { ...request, ...files, blocks, id, author: caller, createdAt: now })
  })
}

async function accessTarget(trx: Transaction, caller: Caller, { kind, channelId }: SendRequest): Promise<ChannelRow> {
  if (kind === 'channel') return accessChannel(trx, caller, channelId, { lock: true })
  const conversationId = wireChannelId({ id: channelId, kind: 'direct' })
  const conversation = await accessConversation(trx, caller, conversationId, { lock: true })
  await requireRecipient(trx, conversation)
  return conversation
}
