import { sql } from 'kysely'

/**
 * For `where('id', '=', anyOf(ids))`: one parameter, however many row ids there are. In a list each is one, and a statement has
 * room for 65,535.
 */
export const anyOf = (ids: readonly string[]) => sql<string>`any(${ids}::uuid[])`
