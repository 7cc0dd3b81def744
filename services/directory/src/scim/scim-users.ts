import { audienceOfPerson } from '@parley/access'
import {
  activateUser,
  createUser,
  deactivateUser,
  deleteLinks,
  findUserByEmail,
  isGuestOver,
  lockAdminsAnd,
  updateProfile,
} from '@parley/accounts'
import {
  audit,
  isDuplicate,
  lockByName,
  record,
  type Transaction,
  type UserRow,
  userUpdatePayload,
} from '@parley/database'
import { syncGroups } from '@parley/groups'
import { scimRefusal } from '@parley/service'
import { syncAdminGroups } from './admin-groups.ts'
import { changeNameParts, wantedDisplayName } from './name-parts.ts'
import { changePreferredLanguage } from './preferred-language.ts'
import type { ScimChangeContext, ScimContext } from './scim-clients.ts'
import { lockScimGroups } from './scim-groups.queries.ts'
import { isExpected } from './scim-responses.ts'
import { findScimUser, listByScimName, updateScimFields } from './scim-users.queries.ts'
import { namesOf, type ScimUser, userVersion, type WantedUser } from './user-resource.ts'

/**
 * Creates a person. A person whom a directory deleted is restored, with their history. The order of locks is SCIM
 * names, people, channels.
 * @throws ProtocolRefusal 409 when somebody has the name or the address.
 */
export async function createScimUser(
  trx: Transaction,
  wanted: WantedUser & { userName: string },
  context: ScimContext,
): Promise<ScimUser> {
  const names = namesOf(wanted)
  await lockScimNames(trx)
  const owner = await findUserByEmail(trx, names.email)
  const named = await listByScimName(trx, wanted.userName, names.email)
  const known = [...(owner ? [owner] : []), ...named.filter(({ id }) => id !== owner?.id)]
  if (known.some(({ scimDeletedAt }) => scimDeletedAt === null)) throw notUnique()
  // The owner of the address comes back, because people sign in with it. Another deleted person gives up the name.
  const [deleted] = await lockLive(trx, known)
  if (deleted) {
    await updateScimFields(trx, deleted.id, { scimDeletedAt: null })
    return applyFields(trx, { ...deleted, scimDeletedAt: null }, { active: true, ...wanted }, context)
  }
  const { active = true, ...rest } = wanted
  // `createUser` locks channels. A later deactivation locks people, which must come first.
  if (!active) await lockAdminsAnd(trx)
  const user = await createUser(trx, { email: names.email, ...context })
  if (!user) throw notUnique()
  return applyFields(trx, user, active ? rest : wanted, context)
}

/**
 * Changes a person. A guest whose time is over is not activated: many directories send `active: true` with each change
 * of a profile, and do not know the end that an admin has set.
 * @throws ProtocolRefusal 404, 412 when the person is not in one of the expected versions.
 */
export async function changeScimUser(
  trx: Transaction,
  id: string,
  wanted: WantedUser,
  context: ScimChangeContext,
): Promise<ScimUser> {
  const { userName, email } = wanted
  if (userName !== undefined || email !== undefined) await lockScimNames(trx)
  const named = userName === undefined ? [] : await listByScimName(trx, userName, userName)
  const before = await lockExpected(trx, id, context.ifMatch, named)
  const { active, ...rest } = wanted
  return applyFields(trx, before, active && isGuestOver(before, context.now) ? rest : wanted, context)
}

/**
 * Deactivates a person, takes them out of the groups of directories, and hides them from directories.
 * @throws as `changeScimUser`; ApiError 400 `last_admin` for the last admin, which SCIM clients receive as 409.
 */
export async function deleteScimUser(trx: Transaction, id: string, context: ScimChangeContext): Promise<void> {
  await lockScimGroups(trx)
  await lockExpected(trx, id, context.ifMatch)
  await deactivateUser(trx, id, context)
  await syncGroups(trx, id, [], context)
  await syncAdminGroups(trx, [id], context)
  await updateScimFields(trx, id, { scimDeletedAt: context.now })
}

/**
 * Makes all other changes of names by directories wait until the transaction ends, so that a free name stays free.
 * Call it before the locks of people.
 */
const lockScimNames = (trx: Transaction) => lockByName(trx, 'parley scim names')

/** Locks the person, and others whom the change may affect. All are locked at once, because people are locked in the order of their ids. */
async function lockExpected(
  trx: Transaction,
  id: string,
  ifMatch: string | undefined,
  others: readonly UserRow[] = [],
): Promise<UserRow> {
  await lockAdminsAnd(trx, id, ...others.map((other) => other.id))
  const user = await findScimUser(trx, id)
  if (!user) throw scimRefusal(404, 'There is no such user')
  if (!isExpected(ifMatch, userVersion(user))) throw scimRefusal(412, 'The user has changed since this version')
  return user
}

/** Locks these people, and returns those whom nobody removed meanwhile, in the same order. */
async function lockLive(trx: Transaction, people: readonly UserRow[]): Promise<UserRow[]> {
  if (people.length === 0) return []
  const live = await lockAdminsAnd(trx, ...people.map(({ id }) => id))
  return people.flatMap(({ id }) => live.get(id) ?? [])
}

/**
 * Applies the wanted fields to a locked person. Call it under `lockScimNames` when the name or the address changes.
 * @throws ProtocolRefusal 409 when somebody has the name or the address.
 */
async function applyFields(
  trx: Transaction,
  before: UserRow,
  wanted: WantedUser,
  context: ScimContext,
): Promise<ScimUser> {
  const { id } = before
  // A userName that is an address is the address, whatever `emails` says.
  const hasNewEmail = wanted.email !== undefined && before.scimUserName !== null
  if (wanted.userName !== undefined || hasNewEmail) {
    const userName = wanted.userName ?? before.scimUserName ?? undefined
    await changeNames(trx, before, namesOf({ userName, email: wanted.email ?? before.email }), context)
  }
  if (wanted.externalId !== undefined && wanted.externalId !== before.externalId) {
    await updateScimFields(trx, id, { externalId: wanted.externalId })
  }
  if (wanted.preferredLanguage !== undefined && wanted.preferredLanguage !== before.preferredLanguage)
    await changePreferredLanguage(trx, before, wanted.preferredLanguage, context)
  await changeNameParts(trx, before, wanted, context)
  const displayName = wantedDisplayName(before, wanted)
  const { title } = wanted
  if (displayName !== undefined || title !== undefined)
    await updateProfile(trx, id, { displayName, title }, { ...context, directory: 'scim' })
  if (wanted.active === true) await activateUser(trx, id, context)
  if (wanted.active === false) await deactivateUser(trx, id, context)
  return (await findScimUser(trx, id))!
}

/** Changes the name and the address of a person. */
async function changeNames(
  trx: Transaction,
  before: UserRow,
  names: ReturnType<typeof namesOf>,
  context: ScimContext,
): Promise<void> {
  await claimNames(trx, before.id, names, context)
  const { email, scimUserName } = names
  if (email === before.email && scimUserName === before.scimUserName) return
  const user = await updateScimFields(trx, before.id, names).catch(explainTakenAddress)
  if (email !== before.email) await recordNewAddress(trx, user, before.email, context)
  if (scimUserName !== before.scimUserName) await auditScimName(trx, before, scimUserName, context)
}

/**
 * Makes the names free for this person: others whom a directory deleted give up the name, but not their address.
 * @throws ProtocolRefusal 409 when somebody else has the name or the address.
 */
async function claimNames(
  trx: Transaction,
  userId: string,
  { email, scimUserName }: ReturnType<typeof namesOf>,
  context: ScimContext,
): Promise<void> {
  const known = await listByScimName(trx, scimUserName ?? email, email)
  const others = known.filter(({ id }) => id !== userId)
  const owner = await findUserByEmail(trx, email)
  const isFree = others.every((other) => other.scimDeletedAt !== null && other.scimUserName !== null)
  if (!isFree || (owner && owner.id !== userId)) throw notUnique()
  for (const other of others) {
    await updateScimFields(trx, other.id, { scimUserName: null })
    await auditScimName(trx, other, null, context)
  }
}

/** Records in the audit log that directories know a person by another `userName`; null when it is their address. */
async function auditScimName(trx: Transaction, before: UserRow, to: string | null, context: ScimContext) {
  const { id, scimUserName } = before
  const { actorId, ip } = context
  const metadata = { from: { scimUserName }, to: { scimUserName: to } }
  await audit(trx, { action: 'user.profile.update', actorId, targetType: 'user', targetId: id, metadata, ip })
}

/** Deletes the links that were mailed to the former address, and records UPDATE_USER and an audit entry. */
async function recordNewAddress(trx: Transaction, user: UserRow, from: string, context: ScimContext): Promise<void> {
  const { id, email } = user
  await deleteLinks(trx, from)
  const routing = await audienceOfPerson(trx, id)
  await record(trx, { type: 'UPDATE_USER', payload: userUpdatePayload(user), routing })
  const target = { targetType: 'user', targetId: id, metadata: { from, to: email } } as const
  await audit(trx, { action: 'user.email.update', actorId: context.actorId, ...target, ip: context.ip })
}

/** A registration may have taken the address after it was found free. */
function explainTakenAddress(error: unknown): never {
  if (isDuplicate(error, 'users_live_email')) throw notUnique()
  throw error
}

const notUnique = () => scimRefusal(409, 'Somebody has this userName or address', 'uniqueness')
