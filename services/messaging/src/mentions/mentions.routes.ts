import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Deps } from '@parley/service'
import { newestMessages, readWantedPage } from '../newest-messages.ts'
import { listMentions } from './mentions.queries.ts'

const ListMentions = {
  summary: 'List the messages that mention the caller, newest first',
  description:
    'Messages and replies of others that mention the caller by name or by a group of theirs, and channel messages that mention `@channel` or ' +
    '`@here` in channels that the caller has joined, since then. Messages that the caller cannot read any more are not listed.',
  ...newestMessages,
}

export const mentionRoutes =
  ({ db }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/mentions', { schema: ListMentions }, async ({ caller, query }) =>
      listMentions(db, caller, await readWantedPage(db, query)),
    )
  }
