import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessConversation, conversationRowId, recipientGone, seesPerson, wireChannelId } from '@parley/access'
import {
  ChannelPreferences,
  Conversation,
  forbidden,
  HasMore,
  Id,
  IdempotencyHeaders,
  invalid,
  ListingQuery,
  limits,
  Message,
  notFound,
  Ok,
  onlyUsers,
  ReadState,
  refusals,
  sessionEnded,
  Timestamp,
} from '@parley/contract'
import { type ChannelRow, claimOf, type Database, once, type Reader, record, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { lockLivePeople } from '@parley/membership'
import { type Deps, sendJsonText } from '@parley/service'
import { type Static, Type } from 'typebox'
import { deleteMessage, editMessage } from '../messages/message-changes.ts'
import { readPage } from '../messages/message-pages.queries.ts'
import { MessageBody, PageQuery, pageEnds } from '../messages.schema.ts'
import {
  findConversation,
  findListedConversation,
  findPerson,
  insertConversation,
  listConversations,
  type Participant,
} from './conversations.queries.ts'

const ListedConversation = Type.Object({
  ...Conversation.properties,
  lastMessageAt: {
    ...Timestamp,
    description: 'The time of the newest message. Without messages, the time when the conversation was created',
  },
  ...ChannelPreferences.properties,
  ...ReadState.properties,
})

const ListConversations = {
  summary: 'List the caller’s direct conversations, ordered by their newest messages',
  description:
    'Pages are ordered by the creation of the conversations, newest first, because that order does not change between two pages.',
  querystring: ListingQuery(limits.pageSize),
  response: {
    200: Type.Object({
      conversations: Type.Array(ListedConversation),
      hasMore: HasMore,
    }),
    ...refusals(400, 401),
  },
}

const GetConversation = {
  summary: 'Get one conversation, with the fields of the listing',
  description: 'For its participants.',
  params: Type.Object({ conversationId: Id }),
  response: { 200: Type.Object({ conversation: ListedConversation }), ...refusals(401, 403, 404) },
}

const OpenedConversation = Type.Object({ conversation: Conversation, isNew: Type.Boolean() })
type OpenedConversation = Static<typeof OpenedConversation>

const OpenConversation = {
  summary: 'Get the direct conversation with a person, or create it',
  headers: IdempotencyHeaders,
  body: Type.Object({ targetUserId: Id }),
  response: {
    200: OpenedConversation,
    ...refusals(400, 401, 403, 409),
  },
}

const ListDirectMessages = {
  summary: 'List messages of a conversation, oldest first',
  description:
    'For its participants. The newest messages, or those next to the message of `before`, `after`, `around` or `aroundSeq`.',
  params: Type.Object({ conversationId: Id }),
  querystring: PageQuery,
  response: { 200: Type.Object({ messages: Type.Array(Message), ...pageEnds }), ...refusals(400, 401, 403, 404) },
}

const DirectMessageParams = Type.Object({ conversationId: Id, messageId: Id })

const EditDirectMessage = {
  summary: 'Edit a direct message',
  description: 'For its author. A missing field `attachments`, `images` or `quotedMessageId` stays as it is.',
  params: DirectMessageParams,
  body: MessageBody,
  response: { 200: Type.Object({ message: Message }), ...refusals(400, 401, 403, 404) },
}

const DeleteDirectMessage = {
  summary: 'Delete a direct message',
  description: 'For its author. Both participants may delete the answer of an app.',
  params: DirectMessageParams,
  response: { 200: Ok, ...refusals(401, 403, 404) },
}

/** The routes in `sending/` send direct messages, with the same statement as all other messages. */
export const conversationRoutes =
  ({ db, clock }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/conversations', { schema: ListConversations }, async ({ caller, query }, reply) =>
      sendJsonText(reply, await listConversations(db, caller.userId, query)),
    )

    app.get('/conversations/:conversationId', { schema: GetConversation }, async ({ caller, params }) => {
      const { id } = await accessConversation(db, caller, params.conversationId)
      return { conversation: await findListedConversation(db, caller.userId, id) }
    })

    app.post('/conversations', { schema: OpenConversation }, async ({ caller, headers, body }) =>
      openConversation(db, { caller, now: clock() }, body.targetUserId, headers['idempotency-key']),
    )

    const messages = '/conversations/:conversationId/messages'
    app.get(messages, { schema: ListDirectMessages }, async ({ caller, params, query }) => {
      const conversation = await accessConversation(db, caller, params.conversationId)
      return readPage(db, { channelId: conversation.id }, query)
    })

    app.put(`${messages}/:messageId`, { schema: EditDirectMessage }, async ({ caller, params, body }) => ({
      message: await editMessage(db, { caller, now: clock() }, messageIn(params), body),
    }))

    app.delete(`${messages}/:messageId`, { schema: DeleteDirectMessage }, async ({ caller, ip, params }) => {
      await deleteMessage(db, { caller, ip, now: clock() }, messageIn(params))
      return { success: true as const }
    })
  }

function messageIn({ conversationId, messageId }: { conversationId: string; messageId: string }) {
  const rowId = conversationRowId(conversationId)
  if (rowId === null) throw notFound('conversation')
  return { messageId, conversationId: rowId }
}

/**
 * Finds or creates the conversation of the caller with another person. Both people are notified of a new one
 * (NEW_CONVERSATION). An existing one is found even after the other person was removed: its messages can still be read.
 * With `key`, an `Idempotency-Key`, a repeated request gets the first response.
 * @throws ApiError 400 when the person is the caller, unknown, or removed before there was a conversation; as `once` for the key.
 */
async function openConversation(
  db: Database,
  { caller, now }: { caller: Caller; now: number },
  targetUserId: string,
  key?: string,
): Promise<OpenedConversation> {
  const other = await findPerson(db, targetUserId)
  if (!other) throw unknownTarget()
  if (other.id === caller.userId) throw invalid('targetUserId must not be yourself')
  const pair = { caller, other, participants: [caller.userId, other.id].sort() }

  const claim = claimOf(caller.userId, key, 'POST /conversations', other.id)
  // Without a key nothing is stored for an existing conversation, so it needs no transaction.
  const known = claim === null ? await findKnown(db, pair) : undefined
  return known ?? once(db, { claim, now }, (trx) => findOrCreate(trx, pair, now))
}

/** The two people of a conversation. */
interface Pair {
  caller: Caller
  other: Participant
  /** The ids of both, in order. */
  participants: string[]
}

async function findKnown(db: Reader, { other, participants }: Pair): Promise<OpenedConversation | undefined> {
  const known = await findConversation(db, participants)
  return known && { conversation: viewOf(known, participants, other), isNew: false }
}

async function findOrCreate(trx: Transaction, pair: Pair, now: number): Promise<OpenedConversation> {
  const known = await findKnown(trx, pair)
  if (known) return known
  const { caller, other, participants } = pair
  const live = await lockLivePeople(trx, participants)
  if (!live.has(caller.userId)) throw sessionEnded()
  // A guest must not learn whether the id was ever that of a person.
  if (!live.has(other.id)) throw caller.role === 'guest' ? unknownTarget() : recipientGone()
  await requireContact(trx, caller, other)

  const created = await insertConversation(trx, { participants, createdBy: caller.userId, createdAt: now })
  // Another request has created it, and has committed.
  if (!created) return (await findKnown(trx, pair))!
  await recordConversationCreated(trx, created, [(await findPerson(trx, caller.userId))!, other])
  return { conversation: viewOf(created, participants, other), isNew: true }
}

/**
 * A guest and another person can write to each other only when they share a channel.
 * @throws ApiError 400 when the caller is a guest, who must not learn whether the person exists; 403 for other callers.
 */
async function requireContact(db: Reader, caller: Caller, other: Participant): Promise<void> {
  if (!(await seesPerson(db, caller, other.id))) throw unknownTarget()
  if (await seesPerson(db, { userId: other.id, role: other.role }, caller.userId)) return
  throw forbidden('You can write to a guest only when you share a channel with them')
}

const unknownTarget = () => invalid('targetUserId must be the id of a user')

/** Records an event for each participant, with the other one as its partner. */
async function recordConversationCreated(
  trx: Transaction,
  created: ChannelRow,
  [one, other]: [Participant, Participant],
) {
  const participants = [one.id, other.id].sort()
  for (const [reader, partner] of [
    [one, other],
    [other, one],
  ] as const) {
    const payload = viewOf(created, participants, partner)
    await record(trx, { type: 'NEW_CONVERSATION', payload, routing: onlyUsers(reader.id) })
  }
}

const viewOf = (row: ChannelRow, participants: string[], { id, userName }: Participant): Conversation => ({
  id: wireChannelId(row),
  participants,
  otherUser: { id, userName },
  createdAt: row.createdAt,
})
