import { audienceOfPerson } from '@parley/access'
import { deleteAvatars } from '@parley/blobs'
import { notFound } from '@parley/contract'
import { type AuditAction, audit, type RecordedEvent, record, type Transaction, type UserRow } from '@parley/database'
import { findCaller } from '@parley/identity'
import { leaveAllChannels, leaveAllGroups } from '@parley/membership'
import { lockAdminsAnd, lockAsAdmin, refuseLastAdmin } from './roles.ts'
import { deleteSecondFactors } from './second-factors.ts'
import { markSessionsEnded } from './session-endings.ts'
import type { RequestContext } from './users.ts'
import { orphanWebhooksOf } from './webhook-owners.ts'

/**
 * Removes a person and records REMOVE_USER. Sessions, streams, memberships and credentials end with the commit. The
 * messages stay, with the person's last name.
 * @throws ApiError 404 when there is no such person, 400 when they are the last admin, 401 and 403 as `lockAsAdmin`.
 */
export async function removeUser(trx: Transaction, userId: string, context: RequestContext): Promise<void> {
  const people = await lockAsAdmin(trx, context, userId)
  const user = people.get(userId)
  if (!user) throw notFound('user')
  if (user.isAdmin) refuseLastAdmin(people, userId)

  await endAccount(trx, user, context, {
    event: { type: 'REMOVE_USER', payload: { id: user.id, email: user.email } },
    action: user.isBot ? 'bot.delete' : 'user.remove',
  })
}

/**
 * Removes the caller, who leaves the server for good, with the effects of `removeUser`, and records USER_EXIT.
 * @throws ApiError 400 for the last admin, 401 when their session has ended in the meantime.
 */
export async function exitServer(trx: Transaction, context: RequestContext): Promise<void> {
  const { caller, now } = context
  const people = await lockAdminsAnd(trx, caller.userId)
  await findCaller(trx, caller, now)
  const user = people.get(caller.userId)!
  if (user.isAdmin) refuseLastAdmin(people, user.id)

  await endAccount(trx, user, context, {
    event: { type: 'USER_EXIT', payload: { id: user.id, userName: user.userName } },
    action: 'user.exit',
  })
}

/** The event and the audit entry that tell about the end of an account. */
interface AccountEnd {
  event: Omit<RecordedEvent<'REMOVE_USER'>, 'routing'> | Omit<RecordedEvent<'USER_EXIT'>, 'routing'>
  action: AuditAction
}

/** Ends an account with everything that belongs to it. The row stays, because messages refer to it as their author. */
async function endAccount(
  trx: Transaction,
  { id: userId, userName }: UserRow,
  { caller, ip, now }: RequestContext,
  { event, action }: AccountEnd,
): Promise<void> {
  const actorId = caller.userId
  const audience = await audienceOfPerson(trx, userId)
  await trx
    .updateTable('users')
    .set({ removedAt: now, isAdmin: false, passwordHash: null, avatarVersion: null, secondFactorSince: null })
    .set({ statusText: null, statusEmoji: null, statusExpiresAt: null, givenName: null, familyName: null })
    .where('id', '=', userId)
    .execute()
  const endSessions = await markSessionsEnded(trx, { userId, reason: 'removed', actorId, ip, now })
  await deleteSecondFactors(trx, userId)
  await deleteAvatars(trx, userId)
  await leaveAllGroups(trx, userId, now)
  await leaveAllChannels(trx, userId)
  await record(trx, { ...event, routing: { ...audience, endSessions, reloadUsers: [userId] } })
  await audit(trx, { action, actorId, targetType: 'user', targetId: userId, metadata: { userName }, ip })
  await orphanWebhooksOf(trx, userId, { actorId, ip })
}
