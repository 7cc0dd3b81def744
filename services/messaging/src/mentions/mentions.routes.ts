import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { invalid, limits, Message, PageLimit, refusals } from '@parley/contract'
import { isRowId } from '@parley/database'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'
import { listMentions } from './mentions.queries.ts'

const ListMentions = {
  summary: 'List the messages that mention the caller, newest first',
  description:
    'Messages and replies of others that mention the caller by name or by a group of theirs, and channel messages that mention `@channel` or ' +
    '`@here` in channels that the caller has joined, since then. Messages that the caller cannot read any more are not listed.',
  querystring: Type.Object({
    limit: PageLimit(),
    before: Type.Optional(Type.String({ description: 'Id of the last message of the page before' })),
  }),
  response: {
    200: Type.Object({
      messages: Type.Array(Message),
      hasMore: Type.Boolean({ description: 'Whether there are further messages' }),
    }),
    ...refusals(400, 401),
  },
}

export const mentionRoutes =
  ({ db }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/mentions', { schema: ListMentions }, ({ caller, query }) => {
      const { before } = query
      if (before !== undefined && !isRowId(before))
        throw invalid('before must be the id of a message', 'invalid_cursor')
      return listMentions(db, caller, { limit: Math.min(query.limit, limits.pageSize), before })
    })
  }
