import type { Group } from '@parley/contract'
import { type GroupRow, isRowId, type Reader, type Transaction } from '@parley/database'
import { groupColumns } from '@parley/membership'
import { sql } from 'kysely'

/** All groups, by handle. Served by groups_live_handle and the primary key of group_members. */
export async function listGroups(db: Reader): Promise<Group[]> {
  const { rows } = await sql<Group>`
    select ${groupColumns} from groups where deleted_at is null order by handle_key`.execute(db)
  return rows
}

/** The group with this id; undefined when there is none. */
export async function findGroup(db: Reader, groupId: string): Promise<Group | undefined> {
  if (!isRowId(groupId)) return undefined
  const { rows } = await sql<Group>`
    select ${groupColumns} from groups where id = ${groupId} and deleted_at is null`.execute(db)
  return rows[0]
}

/** The ids of the members of a group. Served by the primary key. */
export async function listGroupMembers(db: Reader, groupId: string): Promise<string[]> {
  if (!isRowId(groupId)) return []
  const rows = await db.selectFrom('groupMembers').select('userId').where('groupId', '=', groupId).execute()
  return rows.map(({ userId }) => userId)
}

/** The ids of a person's groups. Served by group_members_of_user. */
export async function listGroupsOfPerson(db: Reader, userId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('groupMembers')
    .select('groupId')
    .where('userId', '=', userId)
    .orderBy('groupId')
    .execute()
  return rows.map(({ groupId }) => groupId)
}

/** The live group with this id, locked until the transaction ends. Groups must be locked after people and before channels. */
export const lockGroup = async (trx: Transaction, groupId: string): Promise<GroupRow | undefined> =>
  isRowId(groupId)
    ? trx
        .selectFrom('groups')
        .selectAll()
        .where('id', '=', groupId)
        .where('deletedAt', 'is', null)
        .forNoKeyUpdate()
        .executeTakeFirst()
    : undefined
