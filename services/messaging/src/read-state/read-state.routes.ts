import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessPlace, type PlaceInPath, wireChannelId } from '@parley/access'
import { Id, onlyUsers, ReadState, refusals } from '@parley/contract'
import { type Database, type Reader, record, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { readStateOf } from '@parley/read-states'
import type { Deps } from '@parley/service'
import { type Static, Type } from 'typebox'

const PlaceReadState = Type.Object({ channelId: Type.String(), ...ReadState.properties })
type PlaceReadState = Static<typeof PlaceReadState>

const shape = {
  description:
    'The position never moves back. The caller’s other streams get the event READ_UPDATE. The caller’s own messages count as read.',
  body: Type.Object({
    seq: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'seq of the newest message that was read. A number above the channel’s newest seq means the newest message',
    }),
  }),
  response: { 200: PlaceReadState, ...refusals(400, 401, 403, 404) },
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
    app.put('/channels/:channelId/read', { schema: ReadChannel }, ({ caller, params, body }) =>
      markRead(db, caller, params, body.seq),
    )

    app.put('/conversations/:conversationId/read', { schema: ReadConversation }, ({ caller, params, body }) =>
      markRead(db, caller, params, body.seq),
    )
  }

/**
 * Marks a channel or conversation as read. It does not lock the channel, because many people read it at once. So the
 * event may arrive before a message that it has counted. Its `lastSeq` is the last message that it counts.
 */
function markRead(db: Database, caller: Caller, place: PlaceInPath, seq: number): Promise<PlaceReadState> {
  return db.transaction().execute(async (trx) => {
    const channel = await accessPlace(trx, caller, place)
    const { userId } = caller
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

/** How far a person has read a channel or conversation. */
async function findReadState(db: Reader, channelId: string, userId: string): Promise<ReadState> {
  const { readState } = await db
    .selectFrom('channels')
    .select(readStateOf(userId).as('readState'))
    .where('id', '=', channelId)
    .executeTakeFirstOrThrow()
  return readState
}

/** Moves the position forward, never back: of several devices of a person, the one that has read furthest counts. */
const raiseReadSeq = (trx: Transaction, row: { userId: string; channelId: string; readSeq: number }) =>
  trx
    .insertInto('readStates')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['userId', 'channelId'])
        .doUpdateSet({ readSeq: row.readSeq })
        .where('readStates.readSeq', '<', row.readSeq),
    )
    .execute()
