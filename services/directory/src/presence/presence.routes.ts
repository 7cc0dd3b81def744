import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Presence, PresenceStatus, refusals } from '@parley/contract'
import { listPresence, setPresence } from '@parley/database'
import type { Deps } from '@parley/service'
import { Type } from 'typebox'

const ListPresence = {
  summary: 'Who is there',
  description:
    'Everybody, in the order in which they joined. Ask after each CONNECTED of the event stream: PRESENCE_UPDATE tells ' +
    'what changes from then on, and is not repeated to a stream that resumes.',
  response: { 200: Type.Object({ presence: Type.Array(Presence) }), ...refusals(401) },
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
    app.get('/presence', { schema: ListPresence }, async () => ({ presence: await listPresence(db) }))

    app.put('/presence/me', { schema: SetPresence }, async ({ caller, body }) =>
      setPresence(db, caller.userId, body.status),
    )
  }
