import { limits } from '@parley/contract'
import { isRowId, type Reader } from '@parley/database'
import { listAsJson, type PageRequest } from '@parley/service'
import { type RawBuilder, sql } from 'kysely'

/**
 * The JSON text of `{presence: Presence[], hasMore}`: everybody who is there, in the order in which they joined; who never was
 * here is offline since they were added. Served by the primary keys of both tables.
 */
export const listPresence = (db: Reader, page: PageRequest = {}): Promise<string> =>
  listAsJson(db, page, {
    name: 'presence',
    most: limits.peoplePageSize,
    placeOf: (id) => sql`select id as key from users where id = ${id}`,
    items: ({ after, limit }) =>
      presenceOf(
        sql`select id, created_at from users where removed_at is null and ${after('>', 'id')} order by id ${limit}`,
      ),
  })

/** The same of the people with these ids. Ids of nobody are left out. */
export const listPresenceById = (db: Reader, ids: readonly string[]): Promise<string> =>
  listAsJson(
    db,
    {},
    {
      name: 'presence',
      most: limits.pageSize,
      placeOf: (id) => sql`select id as key from users where id = ${id}`,
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
