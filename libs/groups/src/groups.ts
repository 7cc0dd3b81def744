import {
  type Actor,
  claimName,
  lockCallerAsAdmin,
  nameKey,
  type RequestContext,
  readName,
  readUserName,
} from '@parley/accounts'
import { ApiError, type Group, limits, notFound, unknownUser } from '@parley/contract'
import {
  type AuditAction,
  anyOf,
  audit,
  type GroupRow,
  nameSkeleton,
  record,
  type Transaction,
  uuidv7,
} from '@parley/database'
import { everybodyButGuests, lockLivePeople, nextChange, withOtherMembers } from '@parley/membership'
import { sql } from 'kysely'
import { deriveMembersOfGroup, listChannelsOfGroup, lockChannelsOfGroups } from './channel-groups.ts'
import { recordForGuests, recordGroupMembersChanged } from './groups.events.ts'
import { findGroup, listGroupMembers, lockGroup } from './groups.queries.ts'

/** Who manages a group: the admins of this server, or a directory. */
export type GroupSource = GroupRow['source']

/** The author of a change of groups, and the source whose groups may be changed. */
export interface GroupActor extends Actor {
  source: GroupSource
  /** The admin who makes the change. Absent for a directory. */
  admin?: RequestContext['caller']
}

export interface GroupFields {
  /** The name that mentions use. People and groups share one set of names. */
  handle: string
  name: string
}

/** The people to add and to remove, or all members from now on. */
export type MembersChange = { add?: readonly string[]; remove?: readonly string[] } | { members: readonly string[] }

/**
 * Creates a group with these members, and records NEW_GROUP for everybody except guests, and an audit entry.
 * @throws ApiError 400 when the handle or the name is refused or taken, or a member is unknown.
 */
export async function createGroup(
  trx: Transaction,
  { members = [], ...fields }: GroupFields & { members?: readonly string[] },
  actor: GroupActor,
): Promise<Group> {
  const wanted = [...new Set(members)]
  await lockMembers(trx, actor, { field: 'members', added: wanted })
  const { handle, name } = readFields(fields)
  await claimName(trx, handle, '')
  const id = uuidv7()
  await trx
    .insertInto('groups')
    .values({ id, ...keysOf(handle), name, source: actor.source, createdAt: actor.now })
    .execute()
  await insertMembers(trx, id, wanted, actor.now)
  const group = (await findGroup(trx, id))!
  await recordForGuests(trx, wanted)
  const most = limits.eventMembers
  const payload = { ...group, joined: wanted.slice(0, most) }
  await record(trx, { type: 'NEW_GROUP', payload, routing: everybodyButGuests })
  await recordGroupMembersChanged(trx, group, { joined: wanted.slice(most), left: [] })
  const metadata = { source: actor.source, members: wanted.length }
  await auditGroup(trx, { action: 'group.create', group, actor, metadata })
  return group
}

/**
 * Changes handle or name of a group, and records UPDATE_GROUP for everybody except guests. An absent field keeps its
 * value.
 * @throws ApiError 400 when one is refused or taken, 404 when there is no such group, 409 when another source manages
 * it.
 */
export async function updateGroup(
  trx: Transaction,
  groupId: string,
  changes: Partial<GroupFields>,
  actor: GroupActor,
): Promise<Group> {
  if (actor.admin) await lockPeople(trx, actor, [])
  const before = await lockOwnGroup(trx, groupId, actor)
  const { handle, name } = readFields({ handle: changes.handle ?? before.handle, name: changes.name ?? before.name })
  if (handle === before.handle && name === before.name) return (await findGroup(trx, groupId))!
  // Elsewhere names are claimed before groups are locked. It causes no deadlock here: only groups of this server get another handle, and a
  // transaction that claims several names (`syncGroups`) locks only groups of a directory.
  if (handle !== before.handle) await claimName(trx, handle, before.id)
  await trx
    .updateTable('groups')
    .set({ ...keysOf(handle), name, changedAt: nextChange(actor.now) })
    .where('id', '=', before.id)
    .execute()
  const group = (await findGroup(trx, groupId))!
  await record(trx, { type: 'UPDATE_GROUP', payload: { ...group, joined: [], left: [] }, routing: everybodyButGuests })
  const from = { handle: before.handle, name: before.name }
  await auditGroup(trx, { action: 'group.update', group, actor, metadata: { from, to: { handle, name } } })
  return group
}

/**
 * Deletes a group, and records for everybody except guests that its members left it (UPDATE_GROUP), and then DELETE_GROUP.
 * People who were members of a channel only through this group are members no longer.
 * @throws ApiError 404 when there is no such group, 409 when another source manages it.
 */
export async function deleteGroup(trx: Transaction, groupId: string, actor: GroupActor): Promise<void> {
  await lockPeople(trx, actor, await listGroupMembers(trx, groupId))
  const group = await lockOwnGroup(trx, groupId, actor)
  await lockChannelsOfGroups(trx, [group.id])
  const [members, channels] = [await listGroupMembers(trx, group.id), await listChannelsOfGroup(trx, group.id)]
  await trx.deleteFrom('groupMembers').where('groupId', '=', group.id).execute()
  const emptied = (await findGroup(trx, group.id))!
  await trx.updateTable('groups').set({ deletedAt: actor.now }).where('id', '=', group.id).execute()
  await trx.deleteFrom('channelGroups').where('groupId', '=', group.id).execute()
  await deriveMembersOfGroup(trx, channels, members, actor.now)
  await recordForGuests(trx, members)
  await recordGroupMembersChanged(trx, emptied, { joined: [], left: members })
  await record(trx, { type: 'DELETE_GROUP', payload: { id: group.id }, routing: withOtherMembers(group.id) })
  await auditGroup(trx, { action: 'group.delete', group, actor, metadata: { members: members.length } })
}

/**
 * Changes the members of a group, and with them the members of its channels, and records UPDATE_GROUP for everybody
 * except guests. It needs a few statements for any number of people. Without a change nothing is recorded.
 * @throws ApiError 400 when an added person is unknown, 404 when there is no such group, 409 when another source manages it.
 */
export async function changeGroupMembers(
  trx: Transaction,
  groupId: string,
  change: MembersChange,
  actor: GroupActor,
): Promise<Group> {
  const field = 'members' in change ? 'members' : 'add'
  const added = [...new Set('members' in change ? change.members : change.add)]
  const removed = 'members' in change ? await listGroupMembers(trx, groupId) : (change.remove ?? [])
  await lockMembers(trx, actor, { field, added, others: removed })
  const group = await lockOwnGroup(trx, groupId, actor)

  const present = new Set(await listGroupMembers(trx, group.id))
  const wanted = new Set(added)
  const joined = added.filter((id) => !present.has(id))
  const gone = 'members' in change ? [...present] : [...new Set(removed)]
  const left = gone.filter((id) => present.has(id) && !wanted.has(id))
  if (joined.length + left.length === 0) return (await findGroup(trx, group.id))!

  await insertMembers(trx, group.id, joined, actor.now)
  if (left.length > 0) {
    await trx.deleteFrom('groupMembers').where('groupId', '=', group.id).where('userId', '=', anyOf(left)).execute()
  }
  await trx
    .updateTable('groups')
    .set({ changedAt: nextChange(actor.now) })
    .where('id', '=', group.id)
    .execute()
  await deriveMembersOfGroup(trx, await listChannelsOfGroup(trx, group.id), [...joined, ...left], actor.now)
  const changed = (await findGroup(trx, group.id))!
  await recordForGuests(trx, [...joined, ...left])
  await recordGroupMembersChanged(trx, changed, { joined, left })
  await auditGroup(trx, { action: 'group.members.update', group: changed, actor, metadata: { joined, left } })
  return changed
}

/**
 * Locks these people, and with them the admin who makes the change. Returns the ids of the live ones. @throws as
 * `lockCallerAsAdmin`.
 */
const lockPeople = (trx: Transaction, { admin, now }: GroupActor, userIds: readonly string[]): Promise<Set<string>> =>
  admin ? lockCallerAsAdmin(trx, { caller: admin, now }, userIds) : lockLivePeople(trx, userIds)

/** @throws ApiError 400 when somebody who is added does not exist; as `lockPeople`. */
async function lockMembers(
  trx: Transaction,
  actor: GroupActor,
  { field, added, others = [] }: { field: string; added: readonly string[]; others?: readonly string[] },
): Promise<void> {
  const live = await lockPeople(trx, actor, [...added, ...others])
  if (added.some((id) => !live.has(id))) throw unknownUser(field)
}

async function lockOwnGroup(trx: Transaction, groupId: string, { source }: GroupActor): Promise<GroupRow> {
  const group = await lockGroup(trx, groupId)
  if (!group) throw notFound('group')
  if (group.source !== source) {
    throw new ApiError(409, 'managed_by_directory', 'This group is managed elsewhere. Please have it changed there')
  }
  return group
}

const readFields = ({ handle, name }: GroupFields): GroupFields => ({
  handle: readUserName(handle, 'handle'),
  name: readName(name, 'name', limits.groupName),
})

const keysOf = (handle: string) => ({ handle, handleKey: nameKey(handle), handleSkeleton: nameSkeleton(handle) })

const insertMembers = async (trx: Transaction, groupId: string, userIds: readonly string[], now: number) => {
  if (userIds.length === 0) return
  await sql`insert into group_members (group_id, user_id, added_at)
    select ${groupId}::uuid, user_id, ${now}::bigint from unnest(${userIds}::uuid[]) as user_id`.execute(trx)
}

interface GroupChange {
  action: AuditAction
  group: { id: string; handle: string }
  actor: Actor
  metadata: Record<string, unknown>
}

const auditGroup = (trx: Transaction, { action, group, actor, metadata }: GroupChange) =>
  audit(trx, {
    action,
    actorId: actor.actorId,
    targetType: 'group',
    targetId: group.id,
    metadata: { handle: group.handle, ...metadata },
    ip: actor.ip,
  })
