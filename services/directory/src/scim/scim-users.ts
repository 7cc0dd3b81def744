import {
  activateUser,
  createUser,
  deactivateUser,
  findUserByEmail,
  lockAdminsAnd,
  updateProfile,
} from '@parley/accounts'
import { audit, type Transaction, type UserRow } from '@parley/database'
import { syncGroups } from '@parley/groups'
import { type ExpectingAct, type ScimAct, syncAdminGroups } from './admin-groups.ts'
import { ScimError } from './scim-error.ts'
import { lockScimGroups } from './scim-groups.queries.ts'
import { findScimUser, listByScimName, lockScimNames, updateScimFields } from './scim-users.queries.ts'
import { namesOf, versionOf, type WantedUser } from './user-resource.ts'

/**
 * Creates a person. A person whom a directory deleted is restored, with their history. The order of locks is SCIM
 * names, people, channels.
 * @throws ScimError 409 when somebody has the name or the address.
 */
export async function createScimUser(
  trx: Transaction,
  wanted: WantedUser & { userName: string },
  act: ScimAct,
): Promise<UserRow> {
  const names = namesOf(wanted)
  await lockScimNames(trx)
  const known = await listByScimName(trx, wanted.userName, names.email)
  if (known.some(({ scimDeletedAt }) => scimDeletedAt === null)) throw notUnique()
  const [deleted] = known
  if (deleted) {
    await lockAdminsAnd(trx, deleted.id)
    await updateScimFields(trx, deleted.id, { scimDeletedAt: null })
    return change(trx, { ...deleted, scimDeletedAt: null }, { active: true, ...wanted }, act)
  }
  const { active = true, ...rest } = wanted
  // `createUser` locks channels. A later deactivation locks people, which must come first.
  if (!active) await lockAdminsAnd(trx)
  const user = await createUser(trx, { email: names.email, ...act })
  if (!user) throw notUnique()
  return change(trx, user, active ? rest : wanted, act)
}

/** @throws ScimError 404, 412 when the person is not in one of the expected versions. */
export async function changeScimUser(
  trx: Transaction,
  id: string,
  wanted: WantedUser,
  act: ExpectingAct,
): Promise<UserRow> {
  if (wanted.userName !== undefined || wanted.email !== undefined) await lockScimNames(trx)
  return change(trx, await lockExpected(trx, id, act.ifMatch), wanted, act)
}

/**
 * Deactivates a person, takes them out of the groups of directories, and hides them from directories.
 * @throws as `changeScimUser`; ApiError 400 `last_admin` for the last admin, which SCIM clients receive as 409.
 */
export async function deleteScimUser(trx: Transaction, id: string, act: ExpectingAct): Promise<void> {
  await lockScimGroups(trx)
  await lockExpected(trx, id, act.ifMatch)
  await deactivateUser(trx, id, act)
  await syncGroups(trx, id, [], 'scim', act)
  await syncAdminGroups(trx, [id], act)
  await updateScimFields(trx, id, { scimDeletedAt: act.now })
}

/** Whether the header If-Match allows a change of this version. */
export const isExpected = (ifMatch: string | undefined, version: string): boolean =>
  ifMatch === undefined || ifMatch.split(',').some((each) => ['*', version].includes(each.trim()))

async function lockExpected(trx: Transaction, id: string, ifMatch: string | undefined): Promise<UserRow> {
  await lockAdminsAnd(trx, id)
  const user = await findScimUser(trx, id)
  if (!user) throw new ScimError(404, 'There is no such user')
  if (!isExpected(ifMatch, versionOf(user))) throw new ScimError(412, 'The user has changed since this version')
  return user
}

/** Applies the wanted fields to a locked person. Call it under `lockScimNames` when the name or the address changes. */
async function change(trx: Transaction, before: UserRow, wanted: WantedUser, act: ScimAct): Promise<UserRow> {
  const { id } = before
  if (wanted.userName !== undefined || wanted.email !== undefined) {
    const names = namesOf({
      userName: wanted.userName ?? before.scimUserName ?? undefined,
      email: wanted.email ?? before.email,
    })
    const others = await listByScimName(trx, names.scimUserName ?? names.email, names.email)
    const sameAddress = await findUserByEmail(trx, names.email)
    if (others.some((one) => one.id !== id) || (sameAddress && sameAddress.id !== id)) throw notUnique()
    if (names.email !== before.email || names.scimUserName !== before.scimUserName) {
      await updateScimFields(trx, id, names)
    }
    if (names.email !== before.email) {
      const metadata = { from: before.email, to: names.email }
      const target = { targetType: 'user', targetId: id, metadata } as const
      await audit(trx, { action: 'user.email.update', actorId: act.actorId, ...target, ip: act.ip })
    }
  }
  if (wanted.externalId !== undefined && wanted.externalId !== before.externalId) {
    await updateScimFields(trx, id, { externalId: wanted.externalId })
  }
  const { displayName, title } = wanted
  if (displayName !== undefined || title !== undefined)
    await updateProfile(trx, id, { displayName, title }, 'scim', act)
  if (wanted.active === true) await activateUser(trx, id, act)
  if (wanted.active === false) await deactivateUser(trx, id, act)
  return (await findScimUser(trx, id))!
}

const notUnique = () => new ScimError(409, 'Somebody has this userName or address', 'uniqueness')
