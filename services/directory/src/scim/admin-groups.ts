import { assignRole, lockAdminsAnd } from '@parley/accounts'
import { anyOf, type Reader, type Transaction } from '@parley/database'
import { sql } from 'kysely'
import type { ScimContext } from './scim-clients.ts'

/** Locks the rows that `syncAdminGroups` needs, if roles of these people may change. Call it before groups are locked. */
export async function lockForAdminGroups(
  trx: Transaction,
  userIds: readonly string[],
  { adminGroups }: Pick<ScimContext, 'adminGroups'>,
): Promise<void> {
  if (adminGroups.length > 0 || (await isAnyMadeAdmin(trx, userIds))) await lockAdminsAnd(trx, ...userIds)
}

/**
 * Makes those of these people admins who are in a group of `scim.adminGroups`. People whom such a group made admins
 * lose the role when they are in none any more. Guests and bots keep their role.
 * @throws ApiError 400 last_admin when nobody else would be an admin.
 */
export async function syncAdminGroups(
  trx: Transaction,
  userIds: readonly string[],
  context: ScimContext,
): Promise<void> {
  for (const { id, role, isWanted } of await listRoleChanges(trx, userIds, context.adminGroups)) {
    if (isWanted) await assignRole(trx, id, { role: 'admin' }, context)
    else if (role === 'admin') await assignRole(trx, id, { role: 'member' }, context)
    await trx.updateTable('users').set({ scimMadeAdmin: isWanted }).where('id', '=', id).execute()
  }
}

const isAnyMadeAdmin = async (db: Reader, userIds: readonly string[]): Promise<boolean> =>
  (await db
    .selectFrom('users')
    .select('id')
    .where('id', '=', anyOf([...userIds]))
    .where('scimMadeAdmin', '=', true)
    .limit(1)
    .executeTakeFirst()) !== undefined

/**
 * The people whose role does not agree with their groups: members who are in an admin group, and people whom such a group made admins
 * and who are in none any more. Served by group_members_of_user.
 */
async function listRoleChanges(db: Reader, userIds: readonly string[], adminGroups: readonly string[]) {
  // PostgreSQL writes both names in lower case, because it writes a last Σ in another way than JavaScript.
  const names = sql`select lower(name) from unnest(${adminGroups}::text[]) name`
  const isWanted = sql<boolean>`exists (
    select from group_members m join groups g on g.id = m.group_id
    where m.user_id = users.id and g.source = 'scim' and g.deleted_at is null and lower(g.name) in (${names}))`
  const people = await db
    .selectFrom('users')
    .select(['id', 'role', 'scimMadeAdmin', isWanted.as('isWanted')])
    .where('id', '=', anyOf([...userIds]))
    .where('removedAt', 'is', null)
    .where(sql<boolean>`not is_bot`)
    .orderBy('id')
    .execute()
  return people.filter((one) => (one.isWanted ? one.role === 'member' : one.scimMadeAdmin))
}
