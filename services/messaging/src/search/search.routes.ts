import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accessChannel, accessConversation } from '@parley/access'
import { Message, refusals } from '@parley/contract'
import type { Deps } from '@parley/service'
import { metric } from '@parley/telemetry'
import { Type } from 'typebox'
import { findAuthor, findCursor } from './search.cursor.ts'
import { pageSize, readText, SearchQuery } from './search.schema.ts'
import { searchMessages } from './search.ts'
import { createAdmission } from './search-admission.ts'

const SearchMessages = {
  summary: 'Search messages, newest first',
  description:
    '`q` is a part of the content, of the author’s name or of the name of an attached file, without regard to case. ' +
    'Nothing in it is a wildcard. Only what the caller may read is found; replies in threads and direct messages too.',
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
      // No message is in two places, and none is by nobody.
      if ((channel && conversation) || author === null) return { messages: [] }

      const place = channel ?? conversation
      const wanted = { ...text, channelId: place?.id, authorId: author, from, to, before, limit: pageSize(query.limit) }
      return admit(caller.userId, async () => {
        // Who has left while waiting in line leaves the place to the next.
        if (reply.raw.destroyed) return { messages: [] }
        const begun = performance.now()
        const messages = await searchMessages(db, caller, wanted, place)
        duration.record((performance.now() - begun) / 1_000)
        return { messages }
      })
    })
  }
