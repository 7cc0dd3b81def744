import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { HasMore, invalid, ListingQuery, limits, Presence, PresenceStatus, refusals } from '@parley/contract'
import { isRowId, type Reader } from '@parley/database'
import { setPresence } from '@parley/presence'
import { type Deps, listAsJson, type PageRequest, sendJsonText } from '@parley/service'
import { type RawBuilder, sql } from 'kysely'
import { Type } from 'typebox'
import { PersonIds, readPersonIds } from '../person-ids.ts'

const ListPresence = {
  summary: 'List who is online, away or offline',
  description:
    'All people, in the order in which they joined. Fetch this list after each CONNECTED of the event stream. Later changes come as ' +
    'PRESENCE_UPDATE, which is not replayed to a stream that resumes. A stream with `presence=none` gets no PRESENCE_UPDATE: its client fetches ' +
    'the presence of the people whom it shows. Guests see only their own presence.',
  querystring: Type.Object({
    ...ListingQuery(limits.peoplePageSize).properties,
    ids: PersonIds,
  }),
  response: { 200: Type.Object({ presence: Type.Array(Presence), hasMore: HasMore }), ...refusals(400, 401) },
}

const SetPresence = {
  summary: 'Set the presence of the caller',
  description: 'Lasts until it is changed, or until 20 seconds after the caller’s last event stream closes.',
  body: Type.Object({ status: PresenceStatus }),
  response: { 200: Presence, ...refusals(400, 401) },
}

export const presenceRoutes =
  ({ db }: Deps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/presence', { schema: ListPresence }, async ({ caller, query }, reply) => {
      const { ids, ...page } = query
      if (caller.role === 'guest') return sendJsonText(reply, await listPresenceById(db, [caller.userId]))
      if (ids === undefined) return sendJsonText(reply, await listPresence(db, page))
      if (page.after !== undefined) throw invalid('after cannot be given with ids')
      return sendJsonText(reply, await listPresenceById(db, readPersonIds(ids)))
    })

    app.put('/presence/me', { schema: SetPresence }, async ({ caller, body }) =>
      setPresence(db, caller.userId, body.status),
    )
  }

/**
 * The JSON text of `{presence: Presence[], hasMore}`: all people, in the order in which they joined. A person who was
 * never online has been offline since they were added. Served by the primary keys of both tables.
 */
export const listPresence = (db: Reader, page: PageRequest = {}): Promise<string> =>
  listAsJson(db, page, {
    name: 'presence',
    most: limits.peoplePageSize,
    sortKeyOf: (id) => sql`select id as key from users where id = ${id}`,
    items: ({ after, limit }) =>
      presenceOf(
        sql`select id, created_at from users where removed_at is null and ${after('>', 'id')} order by id ${limit}`,
      ),
  })

/** Like `listPresence`, for the people with these ids. Unknown ids are left out. */
const listPresenceById = (db: Reader, ids: readonly string[]): Promise<string> =>
  listAsJson(
    db,
    {},
    {
      name: 'presence',
      most: limits.pageSize,
      sortKeyOf: (id) => sql`select id as key from users where id = ${id}`,
      items: () =>
        presenceOf(sql`
          select id, created_at from users where id = any(${ids.filter(isRowId)}::uuid[]) and removed_at is null`),
    },
  )

const presenceOf = (people: RawBuilder<unknown>) => sql`
  select users.id as "userId", coalesce(presence.shown, 'offline') as status,
    coalesce(presence.last_seen, users.created_at) as "lastSeen"
  from (${people}) users left join presence on presence.user_id = users.id
  order by users.id`
