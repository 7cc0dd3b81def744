import type { Group, Routing } from '@parley/contract'
import { anyOf, recordAll, type Transaction } from '@parley/database'
import { sql } from 'kysely'

/*
 * The removal of a person from all groups. It is here and not in libs/groups, because libs/accounts needs it to remove
 * people, and libs/groups is built on libs/accounts.
 */

/** Everybody except guests, who do not see groups. */
export const everybodyButGuests: Routing = { to: 'everyone', guests: [] }

/** The routing of an event of a group whose members changed. */
export const withOtherMembers = (groupId: string): Routing => ({ ...everybodyButGuests, reloadGroups: [groupId] })

/** A time later than the previous change, whatever the clock says. It is the version of a group for directories. */
export const nextChange = (now: number) => sql<number>`greatest(${now}::bigint, coalesce(changed_at, created_at) + 1)`

/** The fields of a Group, of a row of `groups`. Removed people belong to no group. */
export const groupColumns = sql`id, handle, name, source, created_at as "createdAt",
  (select count(*) from group_members m where m.group_id = groups.id) as "memberCount"`

/**
 * Removes a person from all groups, whoever manages them, and records UPDATE_GROUP for everybody except guests. The
 * person must be locked, and channels must not be locked yet. Served by group_members_of_user.
 */
export async function leaveAllGroups(trx: Transaction, userId: string, now: number): Promise<void> {
  const groups = await trx
    .selectFrom('groups')
    .select('id')
    .where('id', '=', sql<string>`any(array(select g.group_id from group_members g where g.user_id = ${userId}))`)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  if (groups.length === 0) return

  const ids = anyOf(groups.map(({ id }) => id))
  await trx.deleteFrom('groupMembers').where('userId', '=', userId).where('groupId', '=', ids).execute()
  await trx
    .updateTable('groups')
    .set({ changedAt: nextChange(now) })
    .where('id', '=', ids)
    .execute()
  const { rows } = await sql<Group>`select ${groupColumns} from groups where id = ${ids} order by id`.execute(trx)
  await recordAll(
    trx,
    rows.map((group) => ({
      type: 'UPDATE_GROUP',
      payload: { ...group, joined: [], left: [userId] },
      routing: withOtherMembers(group.id),
    })),
  )
}
