import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel, accessConversation, wireChannelId } from '@parley/access'
import { Id, onlyUsers, ReadState, refusals } from '@parley/contract'
import { type ChannelRow, type Database, record, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import type { Deps } from '@parley/service'
import { type Static, Type } from 'typebox'
import { findReadState, raiseReadSeq } from './read-state.queries.ts'

const ReadAnswer = Type.Object({ channelId: Type.String(), ...ReadState.properties })
type ReadAnswer = Static<typeof ReadAnswer>

const shape = {
  description:
    'Never goes back. The caller’s other streams are told (READ_UPDATE). One’s own messages are read anyway.',
  body: Type.Object({
    seq: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'seq of the newest message that was read; beyond the newest of all it means that one',
    }),
  }),
  response: { 200: ReadAnswer, ...refusals(400, 401, 403, 404) },
}
const ReadChannel = { summary: 'Mark a channel as read', params: Type.Object({ channelId: Id }), ...shape }
const ReadConversation = {
  summary: 'Mark a conversation as read',
  params: Type.Object({ conversationId: Id }),
  ...shape,
}

export const readStateRoutes =
  ({ db }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.put('/channels/:channelId/read', { schema: ReadChannel }, async ({ caller, params, body }) =>
      markRead(db, caller, body.seq, (trx) => accessChannel(trx, caller, params.channelId)),
    )

    app.put('/conversations/:conversationId/read', { schema: ReadConversation }, async ({ caller, params, body }) =>
      markRead(db, caller, body.seq, (trx) => accessConversation(trx, caller, params.conversationId)),
    )
  }

/**
 * Takes no lock of the channel, which many read at once: an event may overtake a message that it has counted, and says by
 * its `lastSeq` which ones those are.
 */
function markRead(
  db: Database,
  { userId }: Caller,
  seq: number,
  access: (trx: Transaction) => Promise<ChannelRow>,
): Promise<ReadAnswer> {
  return db.transaction().execute(async (trx) => {
    const channel = await access(trx)
    const channelId = wireChannelId(channel)

    const before = await findReadState(trx, channel.id, userId)
    const readSeq = Math.min(seq, before.lastSeq)
    if (readSeq <= before.readSeq) return { channelId, ...before }
    await raiseReadSeq(trx, { userId, channelId: channel.id, readSeq })
    const payload = { channelId, ...(await findReadState(trx, channel.id, userId)) }
    await record(trx, { type: 'READ_UPDATE', payload, routing: onlyUsers(userId) })

    return payload
  })
}
