import { lockUserIfLive, nameKey, readName, readUserName } from '@parley/accounts'
import { ApiError, limits } from '@parley/contract'
import { anyOf, nameSkeleton, type Transaction } from '@parley/database'
import { sql } from 'kysely'
import { lockChannelsOfGroups } from './channel-groups.ts'
import { changeGroupMembers, createGroup, type GroupActor, type GroupFields, type GroupSource } from './groups.ts'

/** A person becomes a member of at most this many groups. */
const maxGroups = 200

/** A stored group. */
interface StoredGroup {
  id: string
  name: string
  source: GroupSource
}

/**
 * Makes a person a member of exactly the groups with these names, among the groups of this source. Missing groups are
 * created. Returns the skipped names: those from which no handle can be made, or whose handle another group or a person
 * has. The caller may hold locks of people, but no others. Everything else is locked here: names first, then groups and
 * channels in the order of their ids.
 */
export async function syncGroups(
  trx: Transaction,
  userId: string,
  names: readonly string[],
  actor: GroupActor,
): Promise<string[]> {
  const { source } = actor
  if (!(await lockUserIfLive(trx, userId))) return []
  const skipped = names.slice(maxGroups)
  const fieldsByName = new Map<string, GroupFields>()
  for (const text of names.slice(0, maxGroups)) {
    const fields = fieldsOf(text)
    if (fields) fieldsByName.set(fields.name, fields)
    else skipped.push(text)
  }
  const wanted = new Set<string>()
  const found = await findByHandles(trx, [...fieldsByName.values()])
  for (const fields of sorted(fieldsByName)) {
    const group = found.get(nameKey(fields.handle)) ?? (await createOrFind(trx, fields, userId, actor))
    // Another name with the same handle is another group in the directory, with other members.
    if (group?.source === source && group.name === fields.name) wanted.add(group.id)
    else skipped.push(fields.name)
  }
  const present = await listGroupsOf(trx, userId, source)
  const changed = [...present, ...wanted].filter((id) => !(present.has(id) && wanted.has(id)))
  for (const id of await lockGroupsAndChannels(trx, changed)) {
    const change = wanted.has(id) ? { add: [userId] } : { remove: [userId] }
    await changeGroupMembers(trx, id, change, actor)
  }
  return skipped
}

/** The name and the handle of a group. Names are not shortened, because two names must not become the same. */
function fieldsOf(text: string): GroupFields | undefined {
  try {
    const name = readName(text, 'name', limits.groupName)
    return { name, handle: readUserName(handleOf(name), 'handle') }
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

/**
 * The handle for the name of a group: the name in lower case, in which hyphens replace all characters except letters,
 * digits, dots and underscores. It may be empty, and another group or a person may have it.
 */
export const handleOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}._]+/gu, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '')

/** The groups in the order in which every transaction reserves several names, to prevent deadlocks. */
const sorted = (fieldsByName: ReadonlyMap<string, GroupFields>): GroupFields[] =>
  [...fieldsByName.values()]
    .map((fields) => ({ fields, skeleton: nameSkeleton(fields.handle) }))
    .sort((one, other) => (one.skeleton < other.skeleton ? -1 : one.skeleton > other.skeleton ? 1 : 0))
    .map(({ fields }) => fields)

/** Live groups by the keys of their handles. Served by groups_live_handle. */
async function findByHandles(trx: Transaction, fields: readonly GroupFields[]): Promise<Map<string, StoredGroup>> {
  const rows = await trx
    .selectFrom('groups')
    .select(['id', 'name', 'source', 'handleKey'])
    .where('handleKey', '=', sql<string>`any(${fields.map(({ handle }) => nameKey(handle))}::text[])`)
    .where('deletedAt', 'is', null)
    .execute()
  return new Map(rows.map(({ handleKey, ...group }) => [handleKey, group]))
}

/** Creates a group with this person in it, or finds it when a concurrent sign-in has created it. */
async function createOrFind(
  trx: Transaction,
  fields: GroupFields,
  userId: string,
  actor: GroupActor,
): Promise<StoredGroup | undefined> {
  try {
    return await createGroup(trx, { ...fields, members: [userId] }, actor)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return (await findByHandles(trx, [fields])).get(nameKey(fields.handle))
  }
}

async function listGroupsOf(trx: Transaction, userId: string, source: GroupSource): Promise<Set<string>> {
  const rows = await trx
    .selectFrom('groupMembers')
    .innerJoin('groups', 'groups.id', 'groupMembers.groupId')
    .select('groups.id')
    .where('groupMembers.userId', '=', userId)
    .where('groups.source', '=', source)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** Locks all of these groups and then all of their channels. Returns the live groups. */
async function lockGroupsAndChannels(trx: Transaction, groupIds: readonly string[]): Promise<string[]> {
  if (groupIds.length === 0) return []
  const groups = await trx
    .selectFrom('groups')
    .select('id')
    .where('id', '=', anyOf([...groupIds]))
    .where('deletedAt', 'is', null)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  const live = groups.map(({ id }) => id)
  await lockChannelsOfGroups(trx, live)
  return live
}
