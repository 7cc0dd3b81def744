import { claimFreeName, readName } from '@parley/accounts'
import { limits } from '@parley/contract'
import { anyOf, isRowId, type Reader, type Transaction } from '@parley/database'
import { changeGroupMembers, createGroup, deleteGroup, handleOf, listGroupMembers, updateGroup } from '@parley/groups'
import { lockLivePeople, nextChange } from '@parley/membership'
import { scimRefusal } from '@parley/service'
import { sql } from 'kysely'
import {
  lockForAdminGroups,
  lockScimGroups,
  type ScimChangeContext,
  type ScimContext,
  syncAdminGroups,
} from './admin-groups.ts'
import { groupVersion, type MembersChange, type ScimGroup, type WantedGroup } from './group-resource.ts'
import type { FilterAttribute } from './scim-filter.ts'
import { isExpected, type Page } from './scim-responses.ts'
import { findInvisible } from './scim-users.ts'
import type { GroupOfUser } from './user-resource.ts'

/** Creates a group. @throws ProtocolRefusal 409 when a group has the name, 400 when a member is unknown. */
export async function createScimGroup(
  trx: Transaction,
  wanted: WantedGroup & { displayName: string },
  context: ScimContext,
): Promise<ScimGroup> {
  await lockScimGroups(trx)
  const name = await claimGroupName(trx, wanted.displayName, undefined)
  const members = [...(wanted.members?.add ?? [])]
  await requireVisible(trx, members)
  await lockForAdminGroups(trx, members, context)
  // The order of locks is people, then names.
  await lockLivePeople(trx, members)
  const handle = await claimFreeName(trx, handleOf(name.normalize('NFKC')) || 'group')
  const { id } = await createGroup(trx, { handle, name, members }, context)
  if (wanted.externalId != null) await setExternalId(trx, id, wanted.externalId, null)
  await syncAdminGroups(trx, members, context)
  return (await findScimGroup(trx, id))!
}

/**
 * Changes a group in a few statements, whatever the number of members. Its handle stays.
 * @throws ProtocolRefusal 404, 412 when the group is not in one of the expected versions, and as `createScimGroup`.
 */
export async function changeScimGroup(
  trx: Transaction,
  id: string,
  { displayName, externalId, members }: WantedGroup,
  context: ScimChangeContext,
): Promise<ScimGroup> {
  const before = await lockExpected(trx, id, context)
  const name = displayName === undefined ? before.name : await claimGroupName(trx, displayName, id)
  const isRenamed = name !== before.name
  const concerned = new Set(members ? [...members.add, ...members.remove].filter(isRowId) : [])
  if (isRenamed || members?.isWhole) for (const each of await listGroupMembers(trx, id)) concerned.add(each)
  await lockForAdminGroups(trx, [...concerned], context)

  if (members) {
    await requireVisible(trx, [...members.add])
    await changeGroupMembers(trx, id, groupChangeOf(members), context)
  }
  if (isRenamed) await updateGroup(trx, id, { name }, context)
  if (externalId !== undefined && externalId !== before.externalId)
    await setExternalId(trx, id, externalId, context.now)
  await syncAdminGroups(trx, [...concerned], context)
  return (await findScimGroup(trx, id))!
}

/** Deletes a group. @throws as `changeScimGroup`. */
export async function deleteScimGroup(trx: Transaction, id: string, context: ScimChangeContext): Promise<void> {
  await lockExpected(trx, id, context)
  const members = await listGroupMembers(trx, id)
  await lockForAdminGroups(trx, members, context)
  await deleteGroup(trx, id, context)
  await syncAdminGroups(trx, members, context)
}

async function lockExpected(trx: Transaction, id: string, { ifMatch }: ScimChangeContext): Promise<ScimGroup> {
  await lockScimGroups(trx)
  const group = await findScimGroup(trx, id)
  if (!group) throw scimRefusal(404, 'There is no such group')
  if (!isExpected(ifMatch, groupVersion(group))) throw scimRefusal(412, 'The group has changed since this version')
  return group
}

/** The name as it is stored. @throws ProtocolRefusal 409 when another group has it. */
async function claimGroupName(trx: Transaction, displayName: string, ownId: string | undefined): Promise<string> {
  const name = readName(displayName, 'displayName', limits.groupName)
  const other = await findScimGroupByName(trx, name, ownId)
  if (other) throw scimRefusal(409, 'Another group has this displayName', 'uniqueness')
  return name
}

async function requireVisible(trx: Transaction, ids: readonly string[]): Promise<void> {
  const unknown = await findInvisible(trx, ids)
  if (unknown !== undefined) throw scimRefusal(400, `members has an unknown id: ${unknown}`, 'invalidValue')
}

const groupChangeOf = ({ isWhole, add, remove }: MembersChange) =>
  isWhole ? { members: [...add] } : { add: [...add], remove: [...remove] }

const setExternalId = async (trx: Transaction, id: string, externalId: string | null, now: number | null) => {
  const changed = now === null ? {} : { changedAt: nextChange(now) }
  await trx
    .updateTable('groups')
    .set({ externalId, ...changed })
    .where('id', '=', id)
    .execute()
}

/** The attributes of a group that a filter may name. */
export const filterableGroupAttributes: Record<string, FilterAttribute> = {
  id: { kind: 'exact', column: sql`id::text` },
  externalid: { kind: 'exact', column: sql`external_id` },
  displayname: { kind: 'text', column: sql`name` },
  'meta.lastmodified': { kind: 'time', column: sql`coalesce(changed_at, created_at)` },
}

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
const findScimGroupByName = (
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
