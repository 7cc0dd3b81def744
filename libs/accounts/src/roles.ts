import { audienceOfPerson, kindsReadWithoutJoining } from '@parley/access'
import { invalid, type Role } from '@parley/contract'
import {
  anyOf,
  audit,
  isRowId,
  lockByName,
  record,
  type Transaction,
  type UserRow,
  userUpdatePayload,
} from '@parley/database'
import { findCaller, requireAdmin } from '@parley/identity'
import { lockLivePeople } from '@parley/membership'
import { startReadingAll } from '@parley/read-states'
import { sql } from 'kysely'
import type { RequestContext } from './users.ts'
import { listWebhooksOf, orphanWebhooksOf, recordWebhookOwnership } from './webhook-owners.ts'

/** The author of a change of an account: a person, a program or the server itself. */
export interface Actor {
  actorId: string
  /** Address of the client. */
  ip: string | null
  /** Epoch milliseconds. */
  now: number
}

interface NewRole {
  role: Role
  /** When a guest is deactivated, in epoch milliseconds; null for never. Without it the present value stays. */
  expiresAt?: number | null | undefined
}

/**
 * Changes the role of a person, or how long a guest stays, and records UPDATE_USER. Idempotent. Somebody who becomes a
 * guest keeps their memberships, and loses all other access at once.
 * @throws ApiError 400 when there is no such person, they are the last admin, or `expiresAt` is refused; 401 and 403 as `lockAsAdmin`.
 */
export async function setRole(
  trx: Transaction,
  userId: string,
  role: NewRole,
  context: RequestContext,
): Promise<UserRow> {
  const people = await lockAsAdmin(trx, context, userId)
  const actor = { actorId: context.caller.userId, ip: context.ip, now: context.now }
  return applyRole(trx, { people, userId, role, actor })
}

/** Like `setRole`, for a directory or a program. @throws ApiError 400 as `setRole`. */
export const assignRole = async (trx: Transaction, userId: string, role: NewRole, actor: Actor): Promise<UserRow> =>
  applyRole(trx, { people: await lockAdminsAnd(trx, userId), userId, role, actor })

interface RoleChange {
  /** The result of `lockAdminsAnd`. */
  people: Map<string, UserRow>
  userId: string
  role: NewRole
  actor: Actor
}

async function applyRole(trx: Transaction, { people, userId, role: wanted, actor }: RoleChange): Promise<UserRow> {
  const { role, expiresAt } = wanted
  const before = people.get(userId)
  if (!before) throw invalid('There is no such user')
  if (before.isBot && role === 'admin') throw invalid('A bot cannot be an admin')
  const guestExpiresAt = role !== 'guest' ? null : expiresAt === undefined ? before.guestExpiresAt : expiresAt
  checkExpiry(wanted, actor.now)
  if (before.role === role && before.guestExpiresAt === guestExpiresAt) return before
  if (before.isAdmin && role !== 'admin') refuseLastAdmin(people, userId)

  return changeRole(trx, before, { role, guestExpiresAt }, actor)
}

/** @throws ApiError 400 when `expiresAt` is in the past, or the role is not guest. */
export function checkExpiry({ role, expiresAt }: NewRole, now: number): void {
  if (expiresAt === undefined || expiresAt === null) return
  if (role !== 'guest') throw invalid('expiresAt can only be given with the role guest')
  if (expiresAt <= now) throw invalid('expiresAt must be in the future')
}

/** Makes a live person an admin, for the operator of the server. Returns undefined when there is no such person. */
export async function appointAdmin(trx: Transaction, userId: string, actorId: string): Promise<UserRow | undefined> {
  const before = (await lockAdminsAnd(trx, userId)).get(userId)
  return !before || before.isAdmin
    ? before
    : changeRole(trx, before, { role: 'admin', guestExpiresAt: null }, { actorId, ip: null })
}

/** Changes the role, and records UPDATE_USER and an audit entry. The caller holds the locks of `lockAdminsAnd`. */
export async function changeRole(
  trx: Transaction,
  { id: userId, ...before }: UserRow,
  { role, guestExpiresAt }: { role: Role; guestExpiresAt: number | null },
  { actorId, ip }: { actorId: string; ip: string | null },
): Promise<UserRow> {
  const readBefore = kindsReadWithoutJoining(before.role)
  const kinds = kindsReadWithoutJoining(role).filter((kind) => !readBefore.includes(kind))
  await startReadingAll(trx, { userId, kinds })
  const user = await trx
    .updateTable('users')
    .set({ isAdmin: role === 'admin', isGuest: role === 'guest', guestExpiresAt })
    .where('id', '=', userId)
    .returningAll()
    .executeTakeFirstOrThrow()
  const routing = { ...(await audienceOfPerson(trx, userId)), reloadUsers: [userId] }
  await record(trx, { type: 'UPDATE_USER', payload: userUpdatePayload(user), routing })
  await audit(trx, {
    action: 'user.role.update',
    actorId,
    targetType: 'user',
    targetId: user.id,
    metadata: { role, ...(guestExpiresAt !== null && { expiresAt: guestExpiresAt }) },
    ip,
  })
  if (role === before.role) return user
  if (role === 'admin') await recordWebhookOwnership(trx, await listWebhooksOf(trx, userId), { isOrphaned: false })
  else if (before.isAdmin) await orphanWebhooksOf(trx, userId, { actorId, ip })
  return user
}

/**
 * Locks the rows of all live admins and of these people, in the order of their ids, until the transaction ends, and
 * returns the live ones. Every change of an admin holds all of these locks, so the number of the other admins is exact.
 * Another transaction waits before it looks for the admins. Otherwise it would miss somebody who becomes an admin now,
 * and lock them later, out of order.
 */
export async function lockAdminsAnd(trx: Transaction, ...userIds: string[]): Promise<Map<string, UserRow>> {
  const ids = userIds.filter(isRowId)
  await lockByName(trx, 'parley admins')
  const rows = await trx
    .selectFrom('users')
    .selectAll()
    .where(
      'id',
      '=',
      sql<string>`any(array(
      select id from users where is_admin and removed_at is null union all select unnest(${ids}::uuid[])))`,
    )
    .where('removedAt', 'is', null)
    .where(({ or, eb }) => or([eb('isAdmin', '=', true), eb('id', '=', anyOf(ids))]))
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/**
 * Like `lockAdminsAnd`, for an admin who changes people. The admin's session and admin flag are read again under the
 * locks, because both may have changed since the request began. Their own row is locked too, so they stay an admin
 * until the transaction ends.
 * @throws ApiError 401 when their session has ended, 403 when they are not an admin.
 */
export async function lockAsAdmin(
  trx: Transaction,
  { caller, now }: Omit<RequestContext, 'ip'>,
  ...userIds: string[]
): Promise<Map<string, UserRow>> {
  const people = await lockAdminsAnd(trx, caller.userId, ...userIds)
  requireAdmin(await findCaller(trx, caller, now))
  return people
}

/**
 * Like `lockAsAdmin`, for changes that do not change a person. It locks the caller, so that they stay an admin until the
 * transaction ends, and these people, so that they are not removed. Returns the ids of the live ones. All rows of people
 * must be locked together, in the order of their ids.
 * @throws ApiError 401 when the caller's session has ended, 403 when they are not an admin.
 */
export async function lockCallerAsAdmin(
  trx: Transaction,
  { caller, now }: Omit<RequestContext, 'ip'>,
  userIds: readonly string[] = [],
): Promise<Set<string>> {
  const live = await lockLivePeople(trx, [caller.userId, ...userIds])
  requireAdmin(await findCaller(trx, caller, now))
  return live
}

/** `people` is the result of `lockAdminsAnd`. @throws ApiError 400 when nobody else among them is an active admin. */
export function refuseLastAdmin(people: Map<string, UserRow>, userId: string): void {
  if (isLastAdmin(people, userId))
    throw invalid('The server must keep at least one admin. Please make somebody else an admin first', 'last_admin')
}

/** Whether nobody else among these people is an active admin. */
export const isLastAdmin = (people: Map<string, UserRow>, userId: string): boolean =>
  !people.values().some((one) => one.isAdmin && one.deactivatedAt === null && one.id !== userId)
