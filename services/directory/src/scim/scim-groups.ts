import { claimFreeName, readName } from '@parley/accounts'
import { limits } from '@parley/contract'
import { isRowId, type Transaction } from '@parley/database'
import { changeGroupMembers, createGroup, deleteGroup, handleOf, listGroupMembers, updateGroup } from '@parley/groups'
import { lockLivePeople, nextChange } from '@parley/membership'
import { scimRefusal } from '@parley/service'
import { lockForAdminGroups, syncAdminGroups } from './admin-groups.ts'
import { groupVersion, type MembersChange, type ScimGroup, type WantedGroup } from './group-resource.ts'
import type { ScimChangeContext, ScimContext } from './scim-clients.ts'
import { findScimGroup, findScimGroupByName, lockScimGroups, updateExternalId } from './scim-groups.queries.ts'
import { isExpected } from './scim-responses.ts'
import { findInvisible } from './scim-users.queries.ts'

/** Creates a group. @throws ProtocolRefusal 409 when a group has the name, 400 when a member is unknown. */
export async function createScimGroup(
  trx: Transaction,
  wanted: WantedGroup & { displayName: string },
  context: ScimContext,
): Promise<ScimGroup> {
  await lockScimGroups(trx)
  const name = await claimGroupName(trx, wanted.displayName, undefined)
  const members = [...(wanted.members?.add ?? [])]
  await requireVisible(trx, members)
  await lockForAdminGroups(trx, members, context)
  // The order of locks is people, then names.
  await lockLivePeople(trx, members)
  const handle = await claimFreeName(trx, handleOf(name.normalize('NFKC')) || 'group')
  const { id } = await createGroup(trx, { handle, name, members }, context)
  if (wanted.externalId != null) await updateExternalId(trx, id, { externalId: wanted.externalId })
  await syncAdminGroups(trx, members, context)
  return (await findScimGroup(trx, id))!
}

/**
 * Changes a group in a few statements, whatever the number of members. Its handle stays.
 * @throws ProtocolRefusal 404, 412 when the group is not in one of the expected versions, and as `createScimGroup`.
 */
export async function changeScimGroup(
  trx: Transaction,
  id: string,
  { displayName, externalId, members }: WantedGroup,
  context: ScimChangeContext,
): Promise<ScimGroup> {
  const before = await lockExpected(trx, id, context)
  const name = displayName === undefined ? before.name : await claimGroupName(trx, displayName, id)
  const isRenamed = name !== before.name
  const present = isRenamed || members?.isWhole ? await listGroupMembers(trx, id) : []
  /** The people whose role may change. A name may be that of an admin group, so a new one concerns all members. */
  const concerned = [...new Set([...present, ...namedIn(members)])]
  await lockForAdminGroups(trx, concerned, context)

  if (members) {
    await requireVisible(trx, [...members.add])
    await changeGroupMembers(trx, id, groupChangeOf(members), context)
  }
  if (isRenamed) await updateGroup(trx, id, { name }, context)
  if (externalId !== undefined && externalId !== before.externalId)
    await updateExternalId(trx, id, { externalId, changedAt: nextChange(context.now) })
  await syncAdminGroups(trx, concerned, context)
  return (await findScimGroup(trx, id))!
}

/** Deletes a group. @throws as `changeScimGroup`. */
export async function deleteScimGroup(trx: Transaction, id: string, context: ScimChangeContext): Promise<void> {
  await lockExpected(trx, id, context)
  const members = await listGroupMembers(trx, id)
  await lockForAdminGroups(trx, members, context)
  await deleteGroup(trx, id, context)
  await syncAdminGroups(trx, members, context)
}

async function lockExpected(trx: Transaction, id: string, { ifMatch }: ScimChangeContext): Promise<ScimGroup> {
  await lockScimGroups(trx)
  const group = await findScimGroup(trx, id)
  if (!group) throw scimRefusal(404, 'There is no such group')
  if (!isExpected(ifMatch, groupVersion(group))) throw scimRefusal(412, 'The group has changed since this version')
  return group
}

/** The name as it is stored. @throws ProtocolRefusal 409 when another group has it. */
async function claimGroupName(trx: Transaction, displayName: string, ownId: string | undefined): Promise<string> {
  const name = readName(displayName, 'displayName', limits.groupName)
  const other = await findScimGroupByName(trx, name, ownId)
  if (other) throw scimRefusal(409, 'Another group has this displayName', 'uniqueness')
  return name
}

async function requireVisible(trx: Transaction, ids: readonly string[]): Promise<void> {
  const unknown = await findInvisible(trx, ids)
  if (unknown !== undefined) throw scimRefusal(400, `members has an unknown id: ${unknown}`, 'invalidValue')
}

const namedIn = (members: MembersChange | undefined): string[] =>
  members ? [...members.add, ...members.remove].filter(isRowId) : []

const groupChangeOf = ({ isWhole, add, remove }: MembersChange) =>
  isWhole ? { members: [...add] } : { add: [...add], remove: [...remove] }
