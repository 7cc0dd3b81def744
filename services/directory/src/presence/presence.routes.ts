import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { HasMore, ListingQuery, limits, Presence, PresenceStatus, refusals } from '@parley/contract'
import { setPresence } from '@parley/presence'
import { type Deps, sendJsonText } from '@parley/service'
import { Type } from 'typebox'
import { listPresence } from './presence.queries.ts'

const ListPresence = {
  summary: 'Who is there',
  description:
    'Everybody, in the order in which they joined. Ask after each CONNECTED of the event stream: PRESENCE_UPDATE tells ' +
    'what changes from then on, and is not repeated to a stream that resumes.',
  querystring: ListingQuery(limits.peoplePageSize),
  response: { 200: Type.Object({ presence: Type.Array(Presence), hasMore: HasMore }), ...refusals(400, 401) },
}

const SetPresence = {
  summary: 'Set how the caller is shown',
  description: 'Holds until it is changed, or 20 seconds after the caller’s last event stream closes.',
  body: Type.Object({ status: PresenceStatus }),
  response: { 200: Presence, ...refusals(400, 401) },
}

export const presenceRoutes =
  ({ db }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/presence', { schema: ListPresence }, async ({ query }, reply) =>
      sendJsonText(reply, await listPresence(db, query)),
    )

    app.put('/presence/me', { schema: SetPresence }, async ({ caller, body }) =>
      setPresence(db, caller.userId, body.status),
    )
  }
