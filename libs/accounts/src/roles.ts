import { everyone, invalid } from '@parley/contract'
import { audit, isRowId, record, type Transaction, type UserRow } from '@parley/database'
import { findCaller, requireAdmin } from '@parley/identity'
import { lockLivePeople } from '@parley/membership'
import { startReadingAll } from '@parley/read-states'
import { sql } from 'kysely'
import type { Act } from './users.ts'
import { announceWebhooks, listWebhooksOf, orphanWebhooksOf } from './webhook-owners.ts'

export type Role = 'user' | 'admin'

/**
 * Makes a person an admin or an ordinary user, and tells everyone (UPDATE_USER). Setting the present role changes nothing.
 * @throws ApiError 400 when there is no such person or they are the last admin, 401 and 403 as `lockAsAdmin`.
 */
export async function setRole(trx: Transaction, userId: string, role: Role, act: Act): Promise<UserRow> {
  const people = await lockAsAdmin(trx, act, userId)
  const before = people.get(userId)
  if (!before) throw invalid('There is no such user')
  const isAdmin = role === 'admin'
  if (before.isAdmin === isAdmin) return before
  if (!isAdmin) refuseLastAdmin(people, userId)

  return changeRole(trx, before, isAdmin, { actorId: act.caller.userId, ip: act.ip })
}

/** Makes a live person an admin, for the operator of the server. Answers undefined when there is no such person. */
export async function appointAdmin(trx: Transaction, userId: string, actorId: string): Promise<UserRow | undefined> {
  const before = (await lockAdminsAnd(trx, userId)).get(userId)
  return !before || before.isAdmin ? before : changeRole(trx, before, true, { actorId, ip: null })
}

async function changeRole(
  trx: Transaction,
  { id: userId }: UserRow,
  isAdmin: boolean,
  { actorId, ip }: { actorId: string; ip: string | null },
): Promise<UserRow> {
  if (isAdmin) await startReadingAll(trx, { userId, kinds: ['private'] })
  const user = await updateIsAdmin(trx, userId, isAdmin)
  await record(trx, {
    type: 'UPDATE_USER',
    payload: { id: user.id, userName: user.userName, isAdmin, avatarVersion: user.avatarVersion },
    routing: { ...everyone, reloadUsers: [user.id] },
  })
  await audit(trx, {
    action: 'user.role.update',
    actorId,
    targetType: 'user',
    targetId: user.id,
    metadata: { role: isAdmin ? 'admin' : 'user' },
    ip,
  })
  if (isAdmin) await announceWebhooks(trx, await listWebhooksOf(trx, userId), false)
  else await orphanWebhooksOf(trx, userId, { actorId, ip })
  return user
}

/**
 * Takes the row locks of all live admins and of these people, in id order, until the transaction ends, and answers those
 * who are live. Every change of an admin holds all of these locks, so the count of the other admins is exact.
 */
export async function lockAdminsAnd(trx: Transaction, ...userIds: string[]): Promise<Map<string, UserRow>> {
  const ids = userIds.filter(isRowId)
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
    .where(({ or, eb }) => or([eb('isAdmin', '=', true), eb('id', 'in', ids)]))
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/**
 * As `lockAdminsAnd`, for an admin who acts on people. Their session and their admin flag are read again under the locks, because
 * both may have changed since the request began. Their own row is locked too, so they stay an admin until the end.
 * @throws ApiError 401 when their session has ended, 403 when they are no admin.
 */
export async function lockAsAdmin(
  trx: Transaction,
  { caller, now }: Omit<Act, 'ip'>,
  ...userIds: string[]
): Promise<Map<string, UserRow>> {
  const people = await lockAdminsAnd(trx, caller.userId, ...userIds)
  requireAdmin(await findCaller(trx, caller, now))
  return people
}

/**
 * As `lockAsAdmin`, for changes that concern no person: locks only the caller's row, so that they stay an admin until the end of the
 * transaction. @throws ApiError 401 when their session has ended, 403 when they are no admin.
 */
export async function stayAdmin(trx: Transaction, { caller, now }: Omit<Act, 'ip'>): Promise<void> {
  await lockLivePeople(trx, [caller.userId])
  requireAdmin(await findCaller(trx, caller, now))
}

/** `people` as `lockAdminsAnd` answers them. @throws ApiError 400 when nobody else among them is an admin. */
export function refuseLastAdmin(people: Map<string, UserRow>, userId: string): void {
  const remains = people.values().some(({ id, isAdmin }) => isAdmin && id !== userId)
  if (!remains)
    throw invalid('The server must keep at least one admin. Please make somebody else an admin first', 'last_admin')
}

const updateIsAdmin = (trx: Transaction, userId: string, isAdmin: boolean) =>
  trx.updateTable('users').set({ isAdmin }).where('id', '=', userId).returningAll().executeTakeFirstOrThrow()
