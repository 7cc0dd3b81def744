import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { HasMore, invalid, ListingQuery, limits, Presence, PresenceStatus, refusals } from '@parley/contract'
import { setPresence } from '@parley/presence'
import { type Deps, sendJsonText } from '@parley/service'
import { Type } from 'typebox'
import { listPresence, listPresenceById } from './presence.queries.ts'

const mostIds = 200

const ListPresence = {
  summary: 'Who is there',
  description:
    'Everybody, in the order in which they joined. Ask after each CONNECTED of the event stream: PRESENCE_UPDATE tells ' +
    'what changes from then on, and is not repeated to a stream that resumes. A stream with `presence=none` is told nothing: ' +
    'its client asks for the people whom it shows.',
  querystring: Type.Object({
    ...ListingQuery(limits.peoplePageSize).properties,
    ids: Type.Optional(
      Type.String({
        description: `Only the people with these ids, at most ${mostIds}, separated by commas. Unknown ids are left out`,
      }),
    ),
  }),
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
    app.get('/presence', { schema: ListPresence }, async ({ query }, reply) => {
      const { ids, ...page } = query
      if (ids === undefined) return sendJsonText(reply, await listPresence(db, page))
      if (page.after !== undefined) throw invalid('after cannot be given with ids')
      const asked = ids.split(',')
      if (asked.length > mostIds) throw invalid(`ids must be at most ${mostIds} ids`)
      return sendJsonText(reply, await listPresenceById(db, asked))
    })

    app.put('/presence/me', { schema: SetPresence }, async ({ caller, body }) =>
      setPresence(db, caller.userId, body.status),
    )
  }
