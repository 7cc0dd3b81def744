import { audienceOfPerson } from '@parley/access'
import { notFound } from '@parley/contract'
import {
  audit,
  type Reader,
  record,
  type Transaction,
  type UserFields,
  type UserRow,
  userFields,
  userUpdatePayload,
} from '@parley/database'
import { endChosenPresence } from '@parley/presence'
import { type Actor, lockAdminsAnd, refuseLastAdmin } from './roles.ts'
import { markSessionsEnded } from './session-endings.ts'
import { isGuestOver } from './sessions.ts'
import { listWebhooksOf, orphanWebhooksOf, recordWebhookOwnership } from './webhook-owners.ts'

/** The actor in the audit log when the server itself makes a change. */
const theServer = 'server'

/**
 * Deactivates a person and records UPDATE_USER. With the commit their tokens stop working and their streams end. They
 * keep name, role, memberships and messages. Idempotent.
 * @throws ApiError 404 when there is no such person, 400 when they are the last admin.
 */
export async function deactivateUser(trx: Transaction, userId: string, actor: Actor): Promise<UserRow> {
  const people = await lockAdminsAnd(trx, userId)
  const user = people.get(userId)
  if (!user) throw notFound('user')
  if (user.deactivatedAt !== null) return user
  if (user.isAdmin) refuseLastAdmin(people, userId)
  await deactivate(trx, user, actor)
  return { ...user, deactivatedAt: actor.now }
}

/**
 * Lets a deactivated person sign in again and records UPDATE_USER. A guest whose time is over becomes a guest without a
 * time limit. Idempotent. @throws ApiError 404 when there is no such person.
 */
export async function activateUser(trx: Transaction, userId: string, { actorId, ip, now }: Actor): Promise<UserRow> {
  const user = (await lockAdminsAnd(trx, userId)).get(userId)
  if (!user) throw notFound('user')
  const isOver = isGuestOver(user, now)
  if (user.deactivatedAt === null && !isOver) return user

  const active = await trx
    .updateTable('users')
    .set({ deactivatedAt: null, ...(isOver && { guestExpiresAt: null }) })
    .where('id', '=', userId)
    .returningAll()
    .executeTakeFirstOrThrow()
  const routing = { ...(await audienceOfPerson(trx, userId)), reloadUsers: [userId] }
  await record(trx, { type: 'UPDATE_USER', payload: userUpdatePayload(active), routing })
  await audit(trx, { action: 'user.activate', actorId, ...target(user), ip })
  if (active.isAdmin) await recordWebhookOwnership(trx, await listWebhooksOf(trx, userId), { isOrphaned: false })
  return active
}

/**
 * Deactivates guests whose time is over, at most 100 at a time, and returns their number. Guests whose rows are locked
 * are left for the next call. Served by users_guests_expiring.
 */
export async function deactivateExpiredGuests(trx: Transaction, now: number): Promise<number> {
  const guests = await findExpiredGuests(trx, now)
  // Rows of presence are locked in the order of their ids, as in every transaction.
  for (const guest of guests.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
    await deactivate(trx, guest, { actorId: theServer, ip: null, now }, { reason: 'expired' })
  }
  return guests.length
}

const findExpiredGuests = (db: Reader, now: number): Promise<UserFields[]> =>
  db
    .selectFrom('users')
    .select(userFields)
    .where('guestExpiresAt', '<=', now)
    .where('role', '=', 'guest')
    .where('deactivatedAt', 'is', null)
    .where('removedAt', 'is', null)
    .orderBy('guestExpiresAt')
    .limit(100)
    .forNoKeyUpdate()
    .skipLocked()
    .execute()

async function deactivate(
  trx: Transaction,
  user: UserFields,
  { actorId, ip, now }: Actor,
  details: Record<string, string> = {},
): Promise<void> {
  const audience = await audienceOfPerson(trx, user.id)
  await trx.updateTable('users').set({ deactivatedAt: now }).where('id', '=', user.id).execute()
  const endSessions = await markSessionsEnded(trx, { userId: user.id, reason: 'deactivated', actorId, ip, now })
  await endChosenPresence(trx, user.id)
  await record(trx, {
    type: 'UPDATE_USER',
    payload: userUpdatePayload({ ...user, deactivatedAt: now }),
    routing: { ...audience, endSessions, reloadUsers: [user.id] },
  })
  await audit(trx, { action: 'user.deactivate', actorId, ...target(user, details), ip })
  if (user.isAdmin) await orphanWebhooksOf(trx, user.id, { actorId, ip })
}

const target = ({ id, userName }: UserFields, details: Record<string, string> = {}) => ({
  targetType: 'user' as const,
  targetId: id,
  metadata: { userName, ...details },
})
