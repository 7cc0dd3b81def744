import { accessChannel, findChannel } from '@parley/access'
import type { RequestContext } from '@parley/accounts'
import { audienceOf, type Channel, forbidden, unknownUser } from '@parley/contract'
import { audit, type ChannelRow, type Database, record, recordJob, type Transaction } from '@parley/database'
import { listMembersOfGroups, lockGroups, setChannelGroups } from '@parley/groups'
import { type Caller, findCaller } from '@parley/identity'
import { changeMembers, channelView, keepByHand, listMembers, lockLivePeople } from '@parley/membership'
import { startReading } from '@parley/read-states'
import { type ChannelFields, explainTakenName, kindOf, readChannelName, readTopic } from './channel-fields.ts'
import { type ChannelState, recordChannelChanged } from './channels.events.ts'
import { keepOnlyThroughGroups, listPrivateMembers, updateChannel } from './channels.queries.ts'

/**
 * Changes the given fields of a channel, for its creator or an admin. People who lose access get DELETE_CHANNEL, people
 * who gain access get NEW_CHANNEL, and the audience gets UPDATE_CHANNEL. Without a change nothing is recorded.
 * @throws ApiError 400 when the name is refused or taken or a member unknown, 403 and 404 as `lockOwnChannel`.
 */
export async function changeChannel(
  db: Database,
  { caller, ip, now }: RequestContext,
  channelId: string,
  fields: ChannelFields,
): Promise<Channel> {
  const name = fields.name === undefined ? {} : readChannelName(fields.name)
  const topic = fields.topic === undefined ? {} : { topic: readTopic(fields.topic) }

  for (;;) {
    try {
      return await db.transaction().execute(change)
    } catch (error) {
      if (!(error instanceof MembersChanged)) throw error
    }
  }

  async function change(trx: Transaction): Promise<Channel> {
    const people = await lockPeople(trx, channelId, fields, caller)
    if (fields.groups) await lockGroups(trx, fields.groups)
    const own = await lockOwnChannel(trx, await findCaller(trx, caller, now), channelId)
    const row = fields.groups ? await changeGroups(trx, own, fields.groups, { caller, ip, now }) : own
    const before = { row, members: await listMembers(trx, row.id) }
    if (people.unknownIn) throw unknownUser(people.unknownIn)

    const wanted = await updateByHand(trx, before, fields)
    const membership = { joined: without(wanted, before.members), left: without(before.members, wanted) }
    if (row.kind === 'private' && membership.left.some((id) => !people.locked.has(id))) throw new MembersChanged()
    const kind = fields.isPrivate === undefined ? row.kind : kindOf(fields.isPrivate)
    const after = await storeChange(trx, before, { ...name, ...topic, kind, ...membership, now })
    if (after === before) return channelView(row, before.members)

    await recordChannelChanged(trx, before, after, membership)
    await audit(trx, {
      action: 'channel.update',
      actorId: caller.userId,
      targetType: 'channel',
      targetId: row.id,
      metadata: { from: auditView(before), to: auditView(after), ...membership },
      ip,
    })
    return channelView(after.row, after.members)
  }
}

/** Somebody became a member before the channel was locked. Their row must be locked first, so the change begins again. */
class MembersChanged extends Error {
  override readonly name = 'MembersChanged'
}

/**
 * Locks the caller and the people whose memberships may change. The caller's rights, and the events for the others,
 * depend on their roles, so all these rows stay locked until the commit. Removed people are not admins.
 */
async function lockPeople(trx: Transaction, channelId: string, fields: ChannelFields, { userId }: Caller) {
  const { members, addMembers = [], removeMembers = [], groups } = fields
  const present = members === undefined ? removeMembers : await listPrivateMembers(trx, channelId)
  const throughGroups = groups === undefined ? [] : await listMembersOfGroups(trx, channelId, groups)
  const live = await lockLivePeople(trx, [userId, ...present, ...(members ?? []), ...addMembers, ...throughGroups])
  const unknownIn = (['members', 'addMembers'] as const).find((field) => fields[field]?.some((id) => !live.has(id)))
  return { locked: new Set([...present, ...live]), unknownIn }
}

/**
 * Updates who is a member by hand, and returns the members that the channel must have after the change: the requested
 * ones, or the present ones, without the removed and with the added people. A creator who is a member stays one, and so
 * do the people of the channel's groups.
 */
async function updateByHand(
  trx: Transaction,
  { row: { id, createdBy }, members }: ChannelState,
  { members: listed = members, addMembers = [], removeMembers = [] }: ChannelFields,
): Promise<string[]> {
  const byHand = [...without(listed, removeMembers), ...addMembers]
  const throughGroups = new Set(await listMembersOfGroups(trx, id, []))
  if (addMembers.length > 0) await keepByHand(trx, id, addMembers)
  await keepOnlyThroughGroups(trx, id, without([...throughGroups], [...byHand, createdBy ?? '']))
  const staying = members.filter((member) => member === createdBy || throughGroups.has(member))
  return [...new Set([...staying, ...byHand])]
}

interface ChannelChange extends Partial<Pick<ChannelRow, 'name' | 'nameKey' | 'topic'>> {
  kind: ChannelRow['kind']
  joined: string[]
  left: string[]
  now: number
}

/** Stores a change and returns the state after it. When nothing changes, it returns the same state. */
async function storeChange(
  trx: Transaction,
  before: ChannelState,
  { kind, joined, left, now, ...texts }: ChannelChange,
): Promise<ChannelState> {
  const { row, members } = before
  const haveMembersChanged = joined.length + left.length > 0
  const isSame = (Object.keys(texts) as (keyof typeof texts)[]).every((field) => texts[field] === row[field])
  if (isSame && kind === row.kind && !haveMembersChanged) return before

  const isOpened = row.kind === 'private' && kind === 'public'
  await startReading(trx, row.id, isOpened ? { allBut: members } : { only: joined })
  const { membersVersion } = haveMembersChanged ? await changeMembers(trx, row.id, { joined, left }, { now }) : row
  const changed = await updateChannel(trx, row.id, {
    ...texts,
    kind,
    updatedAt: now,
    membersVersion: membersVersion + (kind === row.kind ? 0 : 1),
  }).catch(explainTakenName)
  return { row: changed, members: await listMembers(trx, row.id) }
}

async function changeGroups(
  trx: Transaction,
  channel: ChannelRow,
  groups: string[],
  { caller, ip, now }: RequestContext,
): Promise<ChannelRow> {
  const { row, before } = await setChannelGroups(trx, channel, groups, now)
  const [added, removed] = [without(groups, before), without(before, groups)]
  if (added.length + removed.length === 0) return row
  await audit(trx, {
    action: 'channel.update',
    actorId: caller.userId,
    targetType: 'channel',
    targetId: row.id,
    metadata: { groupsAdded: added, groupsRemoved: removed },
    ip,
  })
  return row
}

const auditView = ({ row: { name, topic, kind } }: ChannelState) => ({ name, topic, isPrivate: kind === 'private' })

function without(ids: string[], others: string[]): string[] {
  const excluded = new Set(others)
  return ids.filter((id) => !excluded.has(id))
}

/**
 * Deletes a channel for its creator or an admin, and records DELETE_CHANNEL for everybody who could read it. The row is
 * only marked, and a job purges the content afterwards. Memberships stay for a day, because the realtime nodes need
 * them to deliver the event.
 * @throws ApiError 404 when there is no such channel, 403 for everybody else.
 */
export function deleteChannel(db: Database, { caller, ip, now }: RequestContext, channelId: string): Promise<void> {
  return db.transaction().execute(async (trx) => {
    await lockLivePeople(trx, [caller.userId])
    const channel = await lockOwnChannel(trx, await findCaller(trx, caller, now), channelId)

    const deleted = await updateChannel(trx, channel.id, {
      deletedAt: now,
      membersVersion: channel.membersVersion + 1,
    })
    await record(trx, {
      type: 'DELETE_CHANNEL',
      payload: { id: channel.id, name: channel.name },
      routing: audienceOf(deleted),
    })
    await recordJob(trx, 'purge-channel', { channelId: channel.id })
    await audit(trx, {
      action: 'channel.delete',
      actorId: caller.userId,
      targetType: 'channel',
      targetId: channel.id,
      metadata: { name: channel.name },
      ip,
    })
  })
}

/**
 * The channel, locked until the transaction ends, if the caller is its creator or an admin. A creator who has left a
 * private channel cannot read it, but keeps this right. A creator who is a guest now loses it. The caller must be read
 * under the lock of their row.
 * @throws ApiError 404 when there is no such channel, 403 for everybody else.
 */
async function lockOwnChannel(trx: Transaction, caller: Caller, channelId: string): Promise<ChannelRow> {
  const channel = await findChannel(trx, channelId, { lock: true })
  const isCreator = channel?.createdBy === caller.userId && caller.role !== 'guest'
  if (isCreator && channel.kind !== 'direct') return channel
  const readable = await accessChannel(trx, caller, channelId, { lock: true })
  if (!caller.isAdmin) throw forbidden('Only the creator of the channel or an admin may do this')
  return readable
}
