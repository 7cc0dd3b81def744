import { anyOf, isRowId, lockByName, type Reader, type Transaction } from '@parley/database'
import type { nextChange } from '@parley/membership'
import { sql } from 'kysely'
import type { ScimGroup } from './group-resource.ts'
import type { FilterAttribute } from './scim-filter.ts'
import type { Page } from './scim-query.ts'
import type { GroupOfUser } from './user-resource.ts'

/** The attributes of a group that a filter may name. */
export const filterableGroupAttributes: Record<string, FilterAttribute> = {
  id: { kind: 'exact', column: sql`id::text` },
  externalid: { kind: 'exact', column: sql`external_id` },
  displayname: { kind: 'text', column: sql`name` },
  'meta.lastmodified': { kind: 'time', column: sql`coalesce(changed_at, created_at)` },
}

/**
 * Makes all other changes of groups by directories wait until the transaction ends. So the version of a group stays
 * the one that was read, and so does the list of people who are admins through a group. Call it before any other lock.
 */
export const lockScimGroups = (trx: Transaction) => lockByName(trx, 'parley scim groups')

/** The groups that come from a directory. */
const visible = (db: Reader) => db.selectFrom('groups').where('source', '=', 'scim').where('deletedAt', 'is', null)

const memberCount = sql<number>`(select count(*) from group_members m where m.group_id = groups.id)`.as('memberCount')
const fields = ['id', 'name', 'externalId', 'createdAt', 'changedAt', memberCount] as const

/** The members on a page of groups. The first group of a page may have more, because a group has all of its members. */
const mostListedMembers = 10_000

/** A page of groups. With their members it may have fewer groups than `limit`, so that the response fits in memory. */
export async function listScimGroups(
  db: Reader,
  { filter, offset, limit }: Page,
  { withMembers }: { withMembers: boolean },
) {
  const matching = visible(db).where(filter)
  const [rows, { total }] = await Promise.all([
    limit === 0 ? [] : matching.select(fields).orderBy('id').offset(offset).limit(limit).execute(),
    matching.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { rows: withMembers ? withinMembers(rows) : rows, total: Number(total) }
}

/** The groups from the first one on, until they have too many members for a page. */
function withinMembers(groups: readonly ScimGroup[]): readonly ScimGroup[] {
  let members = 0
  const end = groups.findIndex((group, index) => {
    members += Number(group.memberCount)
    return index > 0 && members > mostListedMembers
  })
  return end === -1 ? groups : groups.slice(0, end)
}

export const findScimGroup = async (db: Reader, id: string): Promise<ScimGroup | undefined> =>
  isRowId(id) ? visible(db).select(fields).where('id', '=', id).executeTakeFirst() : undefined

/** Another group than `ownId` with this name. */
export const findScimGroupByName = (
  db: Reader,
  name: string,
  ownId: string | undefined,
): Promise<{ id: string } | undefined> =>
  visible(db)
    .select('id')
    .where(sql<boolean>`lower(name) = lower(${name}::text) and id is distinct from ${ownId ?? null}::uuid`)
    .executeTakeFirst()

/** The members of these groups. Served by the primary key of group_members. */
export async function listMembersByGroup(db: Reader, groups: readonly { id: string }[]) {
  const rows = await db
    .selectFrom('groupMembers')
    .select(['groupId', 'userId as id'])
    .where('groupId', '=', anyOf(groups.map(({ id }) => id)))
    .orderBy('groupMembers.userId')
    .execute()
  return Map.groupBy(rows, ({ groupId }) => groupId)
}

/** The directory groups of these people. Served by group_members_of_user. */
export async function listGroupsOfUsers(
  db: Reader,
  users: readonly { id: string }[],
): Promise<Map<string, GroupOfUser[]>> {
  const rows = await db
    .selectFrom('groupMembers')
    .innerJoin('groups', 'groups.id', 'groupMembers.groupId')
    .select(['groupMembers.userId', 'groups.id', 'groups.name'])
    .where('groupMembers.userId', '=', anyOf(users.map(({ id }) => id)))
    .where('groups.source', '=', 'scim')
    .orderBy('groups.id')
    .execute()
  return Map.groupBy(rows, ({ userId }) => userId)
}

/** Stores the id that a directory gives to a group. A group that is new has no time of change. */
export const updateExternalId = (
  trx: Transaction,
  id: string,
  fields: { externalId: string | null; changedAt?: ReturnType<typeof nextChange> },
) => trx.updateTable('groups').set(fields).where('id', '=', id).execute()
