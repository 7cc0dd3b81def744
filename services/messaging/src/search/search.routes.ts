import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel, accessConversation, findChannel, requireAccess } from '@parley/access'
import { invalid, limits, Message, PageLimit, refusals } from '@parley/contract'
import { type Database, isRowId } from '@parley/database'
import type { Caller } from '@parley/identity'
import { foldText } from '@parley/search'
import type { Deps } from '@parley/service'
import { metric } from '@parley/telemetry'
import { Type } from 'typebox'
import type { Cursor, Wanted } from './search.queries.ts'
import { searchMessages } from './search.ts'
import { createAdmission } from './search-admission.ts'

const Moment = (description: string) =>
  Type.Optional(Type.Integer({ minimum: -(2 ** 53), maximum: 2 ** 53, description }))

const SearchQuery = Type.Object({
  q: Type.String({
    maxLength: limits.search,
    description: 'A part of the content, of the author’s name or of the name of an attached file',
  }),
  channelId: Type.Optional(Type.String({ description: 'Only in this channel' })),
  conversationId: Type.Optional(Type.String({ description: 'Only in this conversation' })),
  authorId: Type.Optional(Type.String({ description: 'Only by this person, or by a webhook (`webhook:<id>`)' })),
  from: Moment('Epoch milliseconds: no older messages'),
  to: Moment('Epoch milliseconds: no newer messages'),
  before: Type.Optional(
    Type.String({ description: 'Id of a message: only messages after it in the order of the result' }),
  ),
  limit: PageLimit(),
})

const SearchMessages = {
  summary: 'Search messages, newest first',
  description:
    '`q` is a part of the content, of the author’s name or of the name of an attached file. Case is ignored, and there are no wildcards. ' +
    'The search finds all messages, replies and direct messages that the caller may read.',
  querystring: SearchQuery,
  response: { 200: Type.Object({ messages: Type.Array(Message) }), ...refusals(400, 401, 403, 404, 429, 503) },
}

export const searchRoutes =
  ({ db, config, metrics }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const duration = metrics.histogram(metric.searchDuration).with()
    const atOnce = Math.max(1, Math.floor(config.database.poolSize / 4))
    const admit = createAdmission({ atOnce, waiting: 16 * atOnce, perPerson: 4 })

    app.get('/search/messages', { schema: SearchMessages }, async ({ caller, query }, reply) => {
      const text = readText(query.q)
      const { channelId, conversationId, authorId, from = 0, to = 2 ** 53 } = query
      const channel = channelId === undefined ? undefined : await accessChannel(db, caller, channelId)
      const conversation =
        conversationId === undefined ? undefined : await accessConversation(db, caller, conversationId)
      const before = query.before === undefined ? undefined : await findCursor(db, caller, query.before)
      const author = authorId === undefined ? undefined : await findAuthor(db, authorId)
      // No message is both in a channel and in a conversation, and no message is by an unknown author.
      if ((channel && conversation) || author === null) return { messages: [] }

      const target = channel ?? conversation
      const wanted = {
        ...text,
        channelId: target?.id,
        authorId: author,
        from,
        to,
        before,
        limit: Math.min(query.limit, limits.pageSize),
      }
      return admit(caller.userId, async () => {
        // The client has disconnected while its search was waiting.
        if (reply.raw.destroyed) return { messages: [] }
        const begun = performance.now()
        const messages = await searchMessages(db, { caller, wanted, channel: target })
        duration.record((performance.now() - begun) / 1_000)
        return { messages }
      })
    })
  }

/** The text of a search, and its folded form. @throws ApiError 400 when it is empty. */
export function readText(q: string): Pick<Wanted, 'text' | 'folded'> {
  const text = q.trim()
  if (text === '') throw invalid('q must not be empty')
  if (text.includes('\0')) throw invalid('q must not contain the character U+0000')
  return { text, folded: foldText(text) }
}

/**
 * The position of the message after which a search continues. A deleted message keeps its position.
 * @throws ApiError 400 when there is no such message, or the caller may not read it.
 */
async function findCursor(db: Database, caller: Caller, messageId: string): Promise<Cursor> {
  const unknown = () => invalid('before must be the id of a message that you can read', 'invalid_cursor')
  if (!isRowId(messageId)) throw unknown()
  const message = await db
    .selectFrom('messages')
    .select(['id', 'createdAt', 'channelId'])
    .where('id', '=', messageId)
    .executeTakeFirst()
  const channel = message && (await findChannel(db, message.channelId))
  if (!channel) throw unknown()
  await requireAccess(db, caller, channel).catch((error: { status?: number }) => {
    throw error.status === 403 ? unknown() : error
  })
  return { id: message.id, createdAt: message.createdAt }
}

const webhookPrefix = 'webhook:'

/** The row id of an author, from the id that messages have; null when there is no such author. Removed people are found too. */
async function findAuthor(db: Database, authorId: string): Promise<string | null> {
  const isWebhook = authorId.startsWith(webhookPrefix)
  const rowId = isWebhook ? authorId.slice(webhookPrefix.length) : authorId
  if (!isRowId(rowId)) return null
  const author = await db
    .selectFrom(isWebhook ? 'webhooks' : 'users')
    .select('id')
    .where('id', '=', rowId)
    .executeTakeFirst()
  return author?.id ?? null
}
