import { limits } from '@parley/contract'
import type { Reader } from '@parley/database'
import { listAsJson, type PageRequest } from '@parley/service'
import { sql } from 'kysely'

/**
 * The JSON text of `{users: User[], hasMore}`: everybody who is there, by name. Served by users_live_name. Who has left since
 * the page before still has a place.
 */
export const listUsers = (db: Reader, page: PageRequest): Promise<string> =>
  listAsJson(db, page, {
    name: 'users',
    most: limits.peoplePageSize,
    placeOf: (id) => sql`select user_name_key as key from users where id = ${id}`,
    items: ({ after, limit }) => sql`
      select id, user_name as "userName", email, is_admin as "isAdmin", created_at as "createdAt"
      from users where removed_at is null and ${after('>', 'user_name_key')}
      order by user_name_key ${limit}`,
  })
