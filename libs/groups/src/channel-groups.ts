import { findChannel } from '@parley/access'
import { invalid } from '@parley/contract'
import { anyOf, type ChannelRow, isRowId, type Reader, type Transaction } from '@parley/database'
import {
  changeMembers,
  findReadersWithoutJoining,
  type MemberChange,
  markAllRead,
  recordChannelUpdated,
  recordMembershipChanged,
} from '@parley/membership'
import { startReading } from '@parley/read-states'
import { sql } from 'kysely'

/** The members of these groups, and of the present groups of the channel. */
export async function listMembersOfGroups(
  db: Reader,
  channelId: string,
  groupIds: readonly string[],
): Promise<string[]> {
  if (!isRowId(channelId)) return []
  const { rows } = await sql<{ userId: string }>`
    select distinct user_id as "userId" from group_members
    where group_id = any(${groupIds.filter(isRowId)}::uuid[])
      or group_id in (select group_id from channel_groups where channel_id = ${channelId})`.execute(db)
  return rows.map(({ userId }) => userId)
}

/**
 * Locks these groups until the transaction ends, so that their members stay the same. Call it after people are locked
 * and before channels are. @throws ApiError 400 when there is no such group.
 */
export async function lockGroups(trx: Transaction, groupIds: readonly string[]): Promise<void> {
  const wanted = new Set(groupIds)
  const groups = await trx
    .selectFrom('groups')
    .select('id')
    .where('id', '=', anyOf([...wanted].filter(isRowId)))
    .where('deletedAt', 'is', null)
    .orderBy('id')
    .forShare()
    .execute()
  if (groups.length < wanted.size)
    throw invalid('groups must contain only ids of groups, and at least one of them is not')
}

/**
 * Sets the groups of a channel. Their members are members of the channel as long as they are in one of its groups.
 * Records the events of the change. Call it under the locks of these people (`listMembersOfGroups`), the groups
 * (`lockGroups`) and the channel, which are taken in this order. Returns the channel and its former groups.
 */
export async function setChannelGroups(
  trx: Transaction,
  channel: ChannelRow,
  groupIds: readonly string[],
  now: number,
): Promise<{ row: ChannelRow; before: string[] }> {
  const channelId = channel.id
  const wanted = [...new Set(groupIds)]
  const present = await trx.selectFrom('channelGroups').select('groupId').where('channelId', '=', channelId).execute()
  const concerned = await listMembersOfGroups(trx, channelId, wanted)
  await trx
    .deleteFrom('channelGroups')
    .where('channelId', '=', channelId)
    .where(sql<boolean>`group_id <> all(${wanted}::uuid[])`)
    .execute()
  if (wanted.length > 0) {
    await trx
      .insertInto('channelGroups')
      .values(wanted.map((groupId) => ({ channelId, groupId })))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
  const row = await deriveMembers(trx, channel, concerned, now)
  return { row, before: present.map(({ groupId }) => groupId) }
}

/**
 * Updates the memberships of these people in every channel of a group, after the members of the group changed. The
 * people and the group must be locked. The channels are locked here, in the order of their ids.
 */
export async function deriveMembersOfGroup(
  trx: Transaction,
  channelIds: readonly string[],
  userIds: readonly string[],
  now: number,
): Promise<void> {
  if (userIds.length === 0) return
  for (const id of channelIds.toSorted()) {
    const channel = await findChannel(trx, id, { lock: true })
    if (channel) await deriveMembers(trx, channel, userIds, now)
  }
}

/** The ids of the groups whose people are members of the channel. Served by the primary key. */
export async function listGroupsOfChannel(db: Reader, channelId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('channelGroups')
    .select('groupId')
    .where('channelId', '=', channelId)
    .orderBy('groupId')
    .execute()
  return rows.map(({ groupId }) => groupId)
}

/**
 * Locks the channels of these groups until the transaction ends, in the order of their ids. Call it after the groups
 * are locked, and before the groups of a channel are changed, because others change them under the lock of the channel.
 */
export async function lockChannelsOfGroups(trx: Transaction, groupIds: readonly string[]): Promise<void> {
  const channels = trx
    .selectFrom('channelGroups')
    .select('channelId')
    .where('groupId', '=', anyOf([...groupIds]))
  await trx.selectFrom('channels').select('id').where('id', 'in', channels).orderBy('id').forNoKeyUpdate().execute()
}

/** The channels of a group, also deleted ones that are not purged yet. Served by channel_groups_of_group. */
export async function listChannelsOfGroup(db: Reader, groupId: string): Promise<string[]> {
  const rows = await db.selectFrom('channelGroups').select('channelId').where('groupId', '=', groupId).execute()
  return rows.map(({ channelId }) => channelId)
}

/**
 * Makes those of these people members who are in a group of the channel, and ends the membership of those who were
 * members only through groups and are in none any more.
 */
async function deriveMembers(
  trx: Transaction,
  channel: ChannelRow,
  userIds: readonly string[],
  now: number,
): Promise<ChannelRow> {
  const change = await findChange(trx, channel.id, userIds)
  const { joined, left } = change
  if (joined.length + left.length === 0) return channel
  // Earlier messages count as read for people who join.
  await startReading(trx, channel.id, { only: joined })
  const couldRead = await findReadersWithoutJoining(trx, channel.kind, joined)
  const after = await changeMembers(trx, channel.id, change, { now, byHand: false })
  await markAllRead(trx, after, [...couldRead])
  await recordMembershipChanged(trx, after, change)
  await recordChannelUpdated(trx, after, change)
  return after
}

async function findChange(db: Reader, channelId: string, userIds: readonly string[]): Promise<MemberChange> {
  const { rows } = await sql<{ userId: string; isDerived: boolean }>`
    select asked.id as "userId", derived.yes as "isDerived"
    from unnest(${userIds}::uuid[]) as asked (id), lateral (
        select exists (
          select from channel_groups c join group_members g on g.group_id = c.group_id
          where c.channel_id = ${channelId} and g.user_id = asked.id offset 0) as yes
        offset 0
      ) derived left join lateral (
        select by_hand from channel_members m where m.channel_id = ${channelId} and m.user_id = asked.id offset 0
      ) present on true
    where derived.yes and present.by_hand is null or not derived.yes and not present.by_hand`.execute(db)
  return {
    joined: rows.filter(({ isDerived }) => isDerived).map(({ userId }) => userId),
    left: rows.filter(({ isDerived }) => !isDerived).map(({ userId }) => userId),
  }
}
