import { everyone, notFound, unauthorized } from '@parley/contract'
import { anyOf, audit, record, type Transaction, type UserRow } from '@parley/database'
import { lockAdminsAnd, refuseLastAdmin, requireStillAdmin } from './roles.ts'
import { markEnded } from './sessions.ts'
import type { Act } from './users.ts'

/**
 * Removes somebody: sessions, streams, memberships and credentials end with the commit; messages stay, under the last
 * name. Tells everyone (REMOVE_USER).
 * @throws ApiError 404 when there is no such person, 400 when they are the last admin, 403 when the caller is no admin
 * any more.
 */
export async function removeUser(trx: Transaction, userId: string, { caller, ip, now }: Act): Promise<void> {
  const people = await lockAdminsAnd(trx, caller.userId, userId)
  requireStillAdmin(people, caller.userId)
  const user = people.get(userId)
  if (!user) throw notFound('user')
  if (user.isAdmin) refuseLastAdmin(people, userId)

  const control = await endAccount(trx, user, now)
  await record(trx, {
    type: 'REMOVE_USER',
    payload: { id: user.id, email: user.email },
    routing: { ...everyone, ...control },
  })
  await audit(trx, {
    action: 'user.remove',
    actorId: caller.userId,
    targetType: 'user',
    targetId: user.id,
    metadata: { userName: user.userName },
    ip,
  })
}

/** The caller leaves the server for good, with the same effects (USER_EXIT). @throws ApiError 400 for the last admin. */
export async function exitServer(trx: Transaction, { caller, ip, now }: Act): Promise<void> {
  const people = await lockAdminsAnd(trx, caller.userId)
  const user = people.get(caller.userId)
  if (!user) throw unauthorized('The session has ended, please sign in again')
  if (user.isAdmin) refuseLastAdmin(people, user.id)

  const control = await endAccount(trx, user, now)
  await record(trx, {
    type: 'USER_EXIT',
    payload: { id: user.id, userName: user.userName },
    routing: { ...everyone, ...control },
  })
  await audit(trx, {
    action: 'user.exit',
    actorId: user.id,
    targetType: 'user',
    targetId: user.id,
    metadata: { userName: user.userName },
    ip,
  })
}

/** The row stays: it is the author of its messages. */
async function endAccount(trx: Transaction, user: UserRow, now: number) {
  await trx
    .updateTable('users')
    .set({ removedAt: now, isAdmin: false, passwordHash: null })
    .where('id', '=', user.id)
    .execute()
  const endSessions = await markEnded(trx, { userId: user.id, now })
  await leaveChannels(trx, user.id)
  return { endSessions, reloadUsers: [user.id] }
}

/** Conversations keep both participants: they are what the other one still reads. */
async function leaveChannels(trx: Transaction, userId: string) {
  const channels = await trx
    .selectFrom('channels')
    .select('id')
    .where('kind', '<>', 'direct')
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('channelMembers')
          .select('userId')
          .whereRef('channelId', '=', 'channels.id')
          .where('userId', '=', userId),
      ),
    )
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  if (channels.length === 0) return

  const left = anyOf(channels.map(({ id }) => id))
  await trx.deleteFrom('channelMembers').where('userId', '=', userId).where('channelId', '=', left).execute()
  await trx
    .updateTable('channels')
    .set(({ eb }) => ({ membersVersion: eb('membersVersion', '+', 1) }))
    .where('id', '=', left)
    .execute()
}
