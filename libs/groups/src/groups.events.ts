import { type Group, limits, onlyUsers } from '@parley/contract'
import { anyOf, record, recordAll, type Transaction, userFields, userUpdatePayload } from '@parley/database'
import { withOtherMembers } from '@parley/membership'

/** Records the people who joined and left, in several events if there are many of them. Clients look for themselves in each. */
export async function recordGroupMembersChanged(
  trx: Transaction,
  group: Group,
  { joined, left }: { joined: string[]; left: string[] },
) {
  const most = limits.eventMembers
  for (let from = 0; from < Math.max(joined.length, left.length); from += most) {
    const change = { joined: joined.slice(from, from + most), left: left.slice(from, from + most) }
    await record(trx, {
      type: 'UPDATE_GROUP',
      payload: { ...group, ...change },
      routing: withOtherMembers(group.id),
    })
  }
}

/**
 * Guests get no events of groups, but their mentions are counted by the groups that they are in. An UPDATE_USER of
 * themselves makes their clients fetch everything again.
 */
export async function recordForGuests(trx: Transaction, userIds: readonly string[]): Promise<void> {
  const guests = await trx
    .selectFrom('users')
    .select(userFields)
    .where('id', '=', anyOf([...userIds]))
    .where('role', '=', 'guest')
    .execute()
  await recordAll(
    trx,
    guests.map((guest) => ({
      type: 'UPDATE_USER',
      payload: userUpdatePayload(guest),
      routing: onlyUsers(guest.id),
    })),
  )
}
