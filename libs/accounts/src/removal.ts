import { audienceOfPerson } from '@parley/access'
import { deleteAvatars } from '@parley/blobs'
import { notFound } from '@parley/contract'
import { audit, record, type Transaction, type UserRow } from '@parley/database'
import { findCaller } from '@parley/identity'
import { leaveAllChannels, leaveAllGroups } from '@parley/membership'
import { lockAdminsAnd, lockAsAdmin, refuseLastAdmin } from './roles.ts'
import { deleteSecondFactors } from './second-factors.ts'
import { markSessionsEnded } from './sessions.ts'
import type { RequestContext } from './users.ts'
import { orphanWebhooksOf } from './webhook-owners.ts'

/**
 * Removes a person and records REMOVE_USER. Sessions, streams, memberships and credentials end with the commit. The
 * messages stay, with the person's last name.
 * @throws ApiError 404 when there is no such person, 400 when they are the last admin, 401 and 403 as `lockAsAdmin`.
 */
export async function removeUser(trx: Transaction, userId: string, context: RequestContext): Promise<void> {
  const { caller, ip, now } = context
  const people = await lockAsAdmin(trx, context, userId)
  const user = people.get(userId)
  if (!user) throw notFound('user')
  if (user.isAdmin) refuseLastAdmin(people, userId)

  const audience = await audienceOfPerson(trx, user.id)
  const control = await endAccount(trx, user, { caller, ip, now })
  await record(trx, {
    type: 'REMOVE_USER',
    payload: { id: user.id, email: user.email },
    routing: { ...audience, ...control },
  })
  await audit(trx, {
    action: user.isBot ? 'bot.delete' : 'user.remove',
    actorId: caller.userId,
    targetType: 'user',
    targetId: user.id,
    metadata: { userName: user.userName },
    ip,
  })
  await orphanWebhooksOf(trx, user.id, { actorId: caller.userId, ip })
}

/**
 * Removes the caller, who leaves the server for good, with the effects of `removeUser`, and records USER_EXIT.
 * @throws ApiError 400 for the last admin, 401 when their session has ended in the meantime.
 */
export async function exitServer(trx: Transaction, { caller, ip, now }: RequestContext): Promise<void> {
  const people = await lockAdminsAnd(trx, caller.userId)
  await findCaller(trx, caller, now)
  const user = people.get(caller.userId)!
  if (user.isAdmin) refuseLastAdmin(people, user.id)

  const audience = await audienceOfPerson(trx, user.id)
  const control = await endAccount(trx, user, { caller, ip, now })
  await record(trx, {
    type: 'USER_EXIT',
    payload: { id: user.id, userName: user.userName },
    routing: { ...audience, ...control },
  })
  await audit(trx, {
    action: 'user.exit',
    actorId: user.id,
    targetType: 'user',
    targetId: user.id,
    metadata: { userName: user.userName },
    ip,
  })
  await orphanWebhooksOf(trx, user.id, { actorId: user.id, ip })
}

/** The row stays, because messages refer to it as their author. */
async function endAccount(trx: Transaction, user: UserRow, { caller, ip, now }: RequestContext) {
  await trx
    .updateTable('users')
    .set({ removedAt: now, isAdmin: false, passwordHash: null, avatarVersion: null, secondFactorSince: null })
    .where('id', '=', user.id)
    .execute()
  const endSessions = await markSessionsEnded(trx, {
    userId: user.id,
    reason: 'removed',
    actorId: caller.userId,
    ip,
    now,
  })
  await deleteSecondFactors(trx, user.id)
  await deleteAvatars(trx, user.id)
  await leaveAllGroups(trx, user.id, now)
  await leaveAllChannels(trx, user.id)
  return { endSessions, reloadUsers: [user.id] }
}
