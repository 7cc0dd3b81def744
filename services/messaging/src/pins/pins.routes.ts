import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel, accessMessage } from '@parley/access'
import { Id, invalid, Message, refusals } from '@parley/contract'
import type { Reader, Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { findMessage, recordMessageUpdated, selectMessages } from '@parley/messages'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { ChangedMessage, MessageParams } from '../messages.schema.ts'

const shape = {
  params: MessageParams,
  response: { 200: ChangedMessage, ...refusals(400, 401, 403, 404) },
}
const PinMessage = {
  summary: 'Pin a channel message',
  description:
    'Idempotent. Direct messages and replies cannot be pinned. A channel has at most `messages.maxPins` pinned messages (default: 100); ' +
    'one more is refused with 400.',
  ...shape,
}
const UnpinMessage = { summary: 'Unpin a channel message', ...shape }

const ListPins = {
  summary: 'List pinned messages of a channel, newest pin first',
  params: Type.Object({ channelId: Id }),
  response: { 200: Type.Object({ messages: Type.Array(Message) }), ...refusals(401, 403, 404) },
}

export const pinRoutes =
  (deps: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db, clock } = deps
    app.post('/messages/:messageId/pin', { schema: PinMessage }, ({ caller, params }) =>
      setPin(deps, caller, params.messageId, clock()),
    )

    app.delete('/messages/:messageId/pin', { schema: UnpinMessage }, ({ caller, params }) =>
      setPin(deps, caller, params.messageId, null),
    )

    app.get('/channels/:channelId/pins', { schema: ListPins }, async ({ caller, params }) => {
      const channel = await accessChannel(db, caller, params.channelId)
      return { messages: await listPinned(db, channel.id) }
    })
  }

/**
 * Pins a channel message, or unpins it with `null`. The event carries the whole message, so that clients replace their
 * copy. Idempotent: without a change there is no event. @throws ApiError 400 when the channel already has the maximum
 * number of pinned messages.
 */
function setPin(
  { db, config }: Deps,
  caller: Caller,
  messageId: string,
  pinnedAt: number | null,
): Promise<ChangedMessage> {
  return db.transaction().execute(async (trx) => {
    const { message, channel } = await accessMessage(trx, caller, messageId, { lock: true })
    if (channel.kind === 'direct') throw invalid('Direct messages cannot be pinned')
    if (message.threadId !== null) throw invalid('Replies cannot be pinned')
    if ((message.pinnedAt === null) === (pinnedAt === null)) {
      return { message: await findMessage(trx, message.id), isChanged: false }
    }
    const most = config.messages.maxPins
    if (pinnedAt !== null && (await countPinned(trx, channel.id)) >= most) {
      throw invalid(`A channel can have at most ${most} pinned messages. Please unpin one first`)
    }

    await updatePinnedAt(trx, message.id, pinnedAt)
    const changed = await findMessage(trx, message.id)
    await recordMessageUpdated(trx, channel, changed, { pin: { by: caller.userId, isPinned: pinnedAt !== null } })

    return { message: changed, isChanged: true }
  })
}

/** Pinned messages of a channel, newest pin first. Served by the partial index messages_pinned. */
export const listPinned = (db: Reader, channelId: string): Promise<Message[]> =>
  selectMessages(db)
    .where('messages.channelId', '=', channelId)
    .where('messages.pinnedAt', 'is not', null)
    .orderBy('messages.pinnedAt', 'desc')
    .orderBy('messages.seq', 'desc')
    .execute()

/** The number of pinned messages of a channel. The channel must be locked. Served by messages_pinned. */
async function countPinned(trx: Transaction, channelId: string): Promise<number> {
  const { count } = await trx
    .selectFrom('messages')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('channelId', '=', channelId)
    .where('pinnedAt', 'is not', null)
    .where('deletedAt', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

const updatePinnedAt = (trx: Transaction, messageId: string, pinnedAt: number | null) =>
  trx
    .updateTable('messages')
    .set(({ eb }) => ({ pinnedAt, rev: eb('rev', '+', 1) }))
    .where('id', '=', messageId)
    .execute()
