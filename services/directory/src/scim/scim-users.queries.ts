import { anyOf, isRowId, type Reader, type Transaction, type UserRow } from '@parley/database'
import { sql } from 'kysely'
import type { FilterAttribute } from './scim-filter.ts'
import type { Page } from './scim-query.ts'
import type { ScimUser } from './user-resource.ts'

const userName = sql`coalesce(scim_user_name, email)`

/**
 * The attributes of a person that a filter may name. `userName eq` is served by users_scim_names, `externalId eq` by
 * users_external_id.
 */
export const filterableUserAttributes: Record<string, FilterAttribute> = {
  id: { kind: 'exact', column: sql`id::text` },
  username: { kind: 'text', column: userName },
  externalid: { kind: 'exact', column: sql`external_id` },
  emails: { kind: 'text', column: sql`email` },
  'emails.value': { kind: 'text', column: sql`email` },
  'emails.type': { kind: 'text', column: sql`'work'::text` },
  active: { kind: 'boolean', column: sql`(deactivated_at is null)` },
  displayname: { kind: 'text', column: sql`display_name` },
  'meta.lastmodified': { kind: 'time', column: sql`coalesce(changed_at, created_at)` },
}

const people = (db: Reader) => db.selectFrom('users').where('removedAt', 'is', null).where(sql<boolean>`not is_bot`)

/** The people who are visible to directories. */
const visible = (db: Reader) => people(db).where('scimDeletedAt', 'is', null)

/**
 * A digest of the groups in the resource of a person; null without groups. Served by group_members_of_user and the
 * primary key of groups.
 */
const groupsDigest = sql<string | null>`(
  select left(md5(string_agg(g.id || g.name, ',' order by g.id)), 8)
  from group_members m join groups g on g.id = m.group_id
  where m.user_id = users.id and g.source = 'scim')`.as('groupsDigest')

export async function listScimUsers(db: Reader, { filter, offset, limit }: Page) {
  const matching = visible(db).where(filter)
  const [rows, { total }] = await Promise.all([
    limit === 0 ? [] : matching.selectAll().select(groupsDigest).orderBy('id').offset(offset).limit(limit).execute(),
    matching.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { rows, total: Number(total) }
}

export const findScimUser = async (db: Reader, id: string): Promise<ScimUser | undefined> =>
  isRowId(id) ? visible(db).selectAll().select(groupsDigest).where('id', '=', id).executeTakeFirst() : undefined

/** The first of these ids that no visible person has; undefined when all of them are visible. */
export async function findInvisible(db: Reader, ids: readonly string[]): Promise<string | undefined> {
  const rows = await visible(db)
    .select('id')
    .where('id', '=', anyOf(ids.filter(isRowId)))
    .execute()
  const found = new Set(rows.map(({ id }) => id))
  return ids.find((id) => !found.has(id))
}

/** Everybody with this name or address, also people whom a directory deleted. */
export const listByScimName = (db: Reader, name: string, email: string): Promise<UserRow[]> =>
  people(db)
    .selectAll()
    .where(
      sql<boolean>`(lower(${userName}) in (lower(${name}::text), lower(${email}::text)) or email = ${email}::text)`,
    )
    .execute()

export const updateScimFields = (
  trx: Transaction,
  id: string,
  fields: Partial<Pick<UserRow, 'email' | 'scimUserName' | 'externalId' | 'scimDeletedAt'>>,
): Promise<UserRow> =>
  trx.updateTable('users').set(fields).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
