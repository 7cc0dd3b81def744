import { findChannel } from '@parley/access'
import { forbidden, notFound, onlyUsers, sessionEnded } from '@parley/contract'
import { anyOf, audit, type ChannelRow, record, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { sql } from 'kysely'
import { tellAudience, tellOwnStreams } from './channel-events.ts'
import { changeMembers, findAdmins, isMember, lockLivePeople } from './members.queries.ts'

interface Act {
  caller: Caller
  /** Epoch milliseconds. */
  now: number
}

/**
 * Makes the caller a member of a public channel and answers the channel. Earlier messages count as read. The channel's audience gets
 * UPDATE_CHANNEL, the caller's own streams of `scope=joined` get NEW_CHANNEL. Idempotent. Locks the person, then the channel: do not
 * hold another channel's lock when you call it.
 * @throws ApiError 404 when there is no such channel or the caller may not read it, 403 when it is private and the caller no member,
 * 401 when the caller was removed in the meantime.
 */
export async function joinChannel(trx: Transaction, { caller, now }: Act, channelId: string): Promise<ChannelRow> {
  const { channel, isIn } = await lockChannelOf(trx, caller, channelId)
  if (isIn) return channel
  if (channel.kind !== 'public') throw forbidden('Only its creator or an admin can add members to a private channel')

  const change = { joined: [caller.userId], left: [] }
  const joined = await changeMembers(trx, channel.id, change, now)
  await readToTheEnd(trx, joined, caller.userId)
  await tellOwnStreams(trx, joined, change)
  await tellAudience(trx, joined, change)
  return joined
}

/**
 * Ends the caller's membership of a channel and answers the channel. Its audience gets UPDATE_CHANNEL. All streams of a caller who
 * loses access get DELETE_CHANNEL; otherwise only those of `scope=joined` do. Idempotent, as long as the caller may read the channel.
 * Locks the person, then the channel.
 * @throws ApiError 404 when there is no such channel or the caller may not read it, 401 when the caller was removed in the meantime.
 */
export async function leaveChannel(
  trx: Transaction,
  { caller, ip, now }: Act & { ip: string | null },
  channelId: string,
): Promise<ChannelRow> {
  const { channel, isIn } = await lockChannelOf(trx, caller, channelId)
  if (!isIn) return channel

  const change = { joined: [], left: [caller.userId] }
  const left = await changeMembers(trx, channel.id, change, now)
  const losesAccess = left.kind === 'private' && (await findAdmins(trx, change.left)).size === 0
  if (losesAccess) {
    const payload = { id: left.id, name: left.name }
    await record(trx, { type: 'DELETE_CHANNEL', payload, routing: onlyUsers(caller.userId) })
  } else {
    await tellOwnStreams(trx, left, change)
  }
  await tellAudience(trx, left, change)
  if (left.kind === 'private') {
    const target = { targetType: 'channel', targetId: left.id } as const
    await audit(trx, { action: 'channel.leave', actorId: caller.userId, ...target, metadata: { name: left.name }, ip })
  }
  return left
}

/**
 * Makes a new person a member of the public channels with these name keys, and tells the audience of each. Names without such a
 * channel are passed over. Served by channels_live_name; the channels stay locked until the transaction ends.
 */
export async function joinPublicChannels(
  trx: Transaction,
  { userId, nameKeys, now }: { userId: string; nameKeys: readonly string[]; now: number },
): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select id from channels
    where name_key = any(${nameKeys}::text[]) and kind = 'public' and kind <> 'direct' and deleted_at is null
    order by id for no key update`.execute(trx)
  const change = { joined: [userId], left: [] }
  for (const { id } of rows) await tellAudience(trx, await changeMembers(trx, id, change, now), change)
}

/**
 * Ends all memberships of a removed person without an event: REMOVE_USER implies it. Conversations keep both participants, because the
 * other one may still read them. Who may read a public channel does not change, so its version stays.
 */
export async function leaveAllChannels(trx: Transaction, userId: string): Promise<void> {
  const channels = await trx
    .selectFrom('channels')
    .select(['id', 'kind'])
    .where('kind', '<>', 'direct')
    .where('id', '=', sql<string>`any(array(select m.channel_id from channel_members m where m.user_id = ${userId}))`)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  if (channels.length === 0) return

  const left = anyOf(channels.map(({ id }) => id))
  await trx.deleteFrom('channelMembers').where('userId', '=', userId).where('channelId', '=', left).execute()
  await trx
    .updateTable('channels')
    .set(({ eb }) => ({ membersVersion: eb('membersVersion', '+', 1) }))
    .where('id', '=', left)
    .where('kind', '=', 'private')
    .execute()
}

/** The locked channel and whether the caller is a member. Callers who may not read it do not learn that it exists. */
async function lockChannelOf(trx: Transaction, caller: Caller, channelId: string) {
  const live = await lockLivePeople(trx, [caller.userId])
  if (!live.has(caller.userId)) throw sessionEnded()
  const channel = await findChannel(trx, channelId, true)
  if (!channel || channel.kind === 'direct') throw notFound('channel')
  const isIn = await isMember(trx, channel.id, caller.userId)
  if (channel.kind === 'private' && !isIn && !caller.isAdmin) throw notFound('channel')
  return { channel, isIn }
}

/**
 * Marks everything in a channel as read for a person who joins it, and tells their streams (READ_UPDATE) when something was unread.
 */
async function readToTheEnd(trx: Transaction, { id, lastSeq }: ChannelRow, userId: string): Promise<void> {
  if (lastSeq === 0) return
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('readStates')
    .values({ userId, channelId: id, readSeq: lastSeq })
    .onConflict((conflict) =>
      conflict
        .columns(['userId', 'channelId'])
        .doUpdateSet({ readSeq: lastSeq })
        .where('readStates.readSeq', '<', lastSeq),
    )
    .executeTakeFirstOrThrow()
  if (numInsertedOrUpdatedRows === 0n) return
  const payload = { channelId: id, lastSeq, readSeq: lastSeq, unreadCount: 0, mentionCount: 0 }
  await record(trx, { type: 'READ_UPDATE', payload, routing: onlyUsers(userId) })
}
