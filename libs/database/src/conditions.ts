import { sql } from 'kysely'

/**
 * For `where('id', '=', anyOf(ids))`: one parameter, however many row ids there are. In a list each is one, and a statement has
 * room for 65,535.
 */
export const anyOf = (ids: readonly string[]) => sql<string>`any(${ids}::uuid[])`

/**
 * `is null` for a moment of a row that is looked up by its id. Written as `is null` it lets PostgreSQL walk through a partial index
 * of all such rows (`users_live_name`, `sessions_active`) instead: while the table is small that looks as cheap as the look-up, and
 * the plan of a prepared statement stays when the table grows.
 */
export const isUnset = (column: string) => sql<boolean>`coalesce(${sql.ref(column)}, 0) = 0`
