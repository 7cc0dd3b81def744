import { findChannel, isReader } from '@parley/access'
import { forbidden, invalid, notFound, onlyUsers } from '@parley/contract'
import { anyOf, audit, type ChannelRow, record, type Transaction } from '@parley/database'
import { type Caller, findCaller } from '@parley/identity'
import { sql } from 'kysely'
import {
  recordChannelUpdated,
  recordForJoinedStreams,
  recordMemberRemoved,
  recordMembershipChanged,
} from './channel-events.ts'
import { changeMembers, findOutsiders, findReadersWithoutJoining, isMember, lockLivePeople } from './members.queries.ts'

interface RequestContext {
  caller: Caller
  /** Epoch milliseconds. */
  now: number
}

/**
 * Makes the caller a member of a public channel and returns the channel. Earlier messages count as read. The channel's
 * audience gets UPDATE_CHANNEL, and the caller's own streams of `scope=joined` get NEW_CHANNEL. Idempotent. It locks
 * the person, then the channel, so the transaction must not hold the lock of another channel.
 * @throws ApiError 404 when there is no such channel or the caller may not read it, 403 when it is private and the
 * caller is not a member, 401 when the caller's session has ended.
 */
export async function joinChannel(
  trx: Transaction,
  { caller, now }: RequestContext,
  channelId: string,
): Promise<ChannelRow> {
  const { channel, isIn } = await lockChannelOf(trx, { caller, now }, channelId)
  if (isIn) {
    await keepByHand(trx, channel.id, [caller.userId])
    return channel
  }
  if (channel.kind !== 'public') throw forbidden('Only its creator or an admin can add members to a private channel')
  return addReaders(trx, channel.id, [caller.userId], now)
}

/**
 * Like `joinChannel`, for several people with one change of the channel, and so with one event of each type. Returns
 * those who are members now. Removed people do not become members, and neither do guests, who may not join by
 * themselves. It locks the people, then the channel.
 * @throws ApiError 404 when there is no such public channel.
 */
export async function joinChannelTogether(
  trx: Transaction,
  { userIds, now }: { userIds: readonly string[]; now: number },
  channelId: string,
): Promise<Set<string>> {
  const live = await lockLivePeople(trx, userIds)
  const channel = await findChannel(trx, channelId, { lock: true })
  if (channel?.kind !== 'public') throw notFound('channel')
  const readers = await findReadersWithoutJoining(trx, channel.kind, [...live])
  const outsiders = await findOutsiders(trx, channel.id, [...live])
  const joining = outsiders.filter((id) => readers.has(id))
  const members = [...live].filter((id) => !outsiders.includes(id))
  if (members.length > 0) await keepByHand(trx, channel.id, members)
  if (joining.length > 0) await addReaders(trx, channel.id, joining, now)
  return new Set([...members, ...joining])
}

/** Adds people to a public channel which they may read already. The channel must be locked. */
async function addReaders(
  trx: Transaction,
  channelId: string,
  joined: readonly string[],
  now: number,
): Promise<ChannelRow> {
  const change = { joined, left: [] }
  const channel = await changeMembers(trx, channelId, change, { now })
  await markAllRead(trx, channel, joined)
  await recordForJoinedStreams(trx, channel, change)
  await recordChannelUpdated(trx, channel, change)
  return channel
}

/**
 * Ends the caller's membership of a channel and returns the channel. Its audience gets UPDATE_CHANNEL. If the caller
 * loses access, all their streams get DELETE_CHANNEL, otherwise only those of `scope=joined`. Idempotent, as long as
 * the caller may read the channel. It locks the person, then the channel.
 * @throws ApiError 400 for a member through a group, 404 when there is no such channel or the caller may not read it, 401
 * when the caller's session has ended.
 */
export async function leaveChannel(
  trx: Transaction,
  { caller, ip, now }: RequestContext & { ip: string | null },
  channelId: string,
): Promise<ChannelRow> {
  const { channel, isIn } = await lockChannelOf(trx, { caller, now }, channelId)
  if (!isIn) return channel
  if (await isInThroughGroup(trx, channel.id, caller.userId)) {
    throw invalid('You belong to this channel through a group, for as long as you are in the group')
  }

  const change = { joined: [], left: [caller.userId] }
  const left = await changeMembers(trx, channel.id, change, { now })
  await recordMembershipChanged(trx, left, change)
  await recordChannelUpdated(trx, left, change)
  if (left.kind === 'private') {
    const target = { targetType: 'channel', targetId: left.id } as const
    await audit(trx, { action: 'channel.leave', actorId: caller.userId, ...target, metadata: { name: left.name }, ip })
  }
  return left
}

/**
 * Makes people members of the public channels with these name keys, unless they are members already. Records
 * UPDATE_CHANNEL for the audience of each channel, and with `haveStreams` also the events for the people's own streams.
 * Names without such a channel are skipped. The rows of the people must be locked. The channels stay locked until the
 * transaction ends. Served by channels_live_name, whose condition `kind <> 'direct'` is repeated for this.
 */
export async function joinPublicChannels(
  trx: Transaction,
  { userIds, nameKeys, now, haveStreams = false }: NewMembers,
): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select id from channels
    where name_key = any(${nameKeys}::text[]) and kind = 'public' and kind <> 'direct' and deleted_at is null
    order by id for no key update`.execute(trx)
  for (const { id } of rows) {
    const joined = await findOutsiders(trx, id, userIds)
    if (joined.length === 0) continue
    const change = { joined, left: [] }
    const channel = await changeMembers(trx, id, change, { now })
    if (haveStreams) await recordForJoinedStreams(trx, channel, change)
    await recordChannelUpdated(trx, channel, change)
  }
}

interface NewMembers {
  userIds: readonly string[]
  nameKeys: readonly string[]
  now: number
  /** Whether they may have open streams, because they were created before this transaction. */
  haveStreams?: boolean
}

/**
 * Ends all memberships of a removed person. Clients conclude this from REMOVE_USER, so only streams that do not know
 * the members of their channels get an event. Conversations keep both participants, because the other one may still
 * read them. The readers of a public channel do not change, so its version stays the same.
 */
export async function leaveAllChannels(trx: Transaction, userId: string): Promise<void> {
  const channels = await trx
    .selectFrom('channels')
    .select('id')
    .where('kind', '<>', 'direct')
    .where('id', '=', sql<string>`any(array(select m.channel_id from channel_members m where m.user_id = ${userId}))`)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  if (channels.length === 0) return

  const left = anyOf(channels.map(({ id }) => id))
  await trx.deleteFrom('channelMembers').where('userId', '=', userId).where('channelId', '=', left).execute()
  const rows = await trx
    .updateTable('channels')
    .set({ membersVersion: sql`members_version + (kind = 'private')::integer` })
    .where('id', '=', left)
    .where('deletedAt', 'is', null)
    .returningAll()
    .execute()
  await recordMemberRemoved(trx, rows, userId)
}

/**
 * Locks the channel, and returns it and whether the caller is a member. Callers who may not read it do not learn that
 * it exists. Their role is read again under the lock of their row, because it may have changed since the request began.
 */
async function lockChannelOf(trx: Transaction, { caller, now }: RequestContext, channelId: string) {
  await lockLivePeople(trx, [caller.userId])
  const { role } = await findCaller(trx, caller, now)
  const channel = await findChannel(trx, channelId, { lock: true })
  if (!channel || channel.kind === 'direct') throw notFound('channel')
  const isIn = await isMember(trx, channel.id, caller.userId)
  if (!isReader(channel.kind, { role, isMember: isIn })) throw notFound('channel')
  return { channel, isIn }
}

/** Keeps those of these people who are members through groups as members, even when they leave these groups. */
export const keepByHand = (trx: Transaction, channelId: string, userIds: readonly string[]) =>
  trx
    .updateTable('channelMembers')
    .set({ byHand: true })
    .where('channelId', '=', channelId)
    .where('userId', '=', anyOf([...userIds]))
    .where('byHand', '=', false)
    .execute()

const isInThroughGroup = async (trx: Transaction, channelId: string, userId: string): Promise<boolean> =>
  (await trx
    .selectFrom('channelGroups')
    .innerJoin('groupMembers', 'groupMembers.groupId', 'channelGroups.groupId')
    .select('userId')
    .where('channelId', '=', channelId)
    .where('userId', '=', userId)
    .limit(1)
    .executeTakeFirst()) !== undefined

/**
 * Marks everything in a channel as read for people who join it, and records READ_UPDATE for those who had unread
 * messages.
 */
export async function markAllRead(
  trx: Transaction,
  { id, lastSeq }: ChannelRow,
  userIds: readonly string[],
): Promise<void> {
  if (lastSeq === 0 || userIds.length === 0) return
  const { rows } = await sql<{ userId: string }>`
    insert into read_states (user_id, channel_id, read_seq)
    select user_id, ${id}::uuid, ${lastSeq}::bigint from unnest(${userIds}::uuid[]) as user_id order by user_id
    on conflict (user_id, channel_id) do update set read_seq = excluded.read_seq
      where read_states.read_seq < excluded.read_seq
    returning user_id as "userId"`.execute(trx)
  if (rows.length === 0) return
  const payload = { channelId: id, lastSeq, readSeq: lastSeq, unreadCount: 0, mentionCount: 0 }
  await record(trx, { type: 'READ_UPDATE', payload, routing: onlyUsers(...rows.map(({ userId }) => userId)) })
}
