import { audienceOf, type Channel, type EventPayload, limits, onlyJoinedStreams, onlyUsers } from '@parley/contract'
import { anyOf, type ChannelRow, type Reader, record, type Transaction } from '@parley/database'
import { readStateOf } from '@parley/read-states'
import { sql } from 'kysely'
import { findReadersWithoutJoining, listMembers, type MemberChange } from './members.queries.ts'

/** A channel as requests are answered with it. */
export const channelView = (row: ChannelRow, members: string[]): Channel => ({ ...summaryOf(row), members })

/** The payload of a channel's events: large channels without their members, so that it stays small. */
export async function channelPayload(db: Reader, row: ChannelRow): Promise<EventPayload<'UPDATE_CHANNEL'>> {
  const summary = summaryOf(row)
  if (row.memberCount > limits.eventMembers) return summary
  return { ...summary, members: await listMembers(db, row.id) }
}

const summaryOf = (row: ChannelRow) => ({
  id: row.id,
  name: row.name,
  topic: row.topic,
  isPrivate: row.kind === 'private',
  memberCount: row.memberCount,
  createdBy: row.createdBy,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

/**
 * Tells the audience of a channel what it is like now (UPDATE_CHANNEL). With `change`, which must be all that has happened to its
 * members since the version before, the realtime nodes need not read them anew.
 */
export async function recordChannelUpdated(trx: Transaction, row: ChannelRow, change?: MemberChange): Promise<void> {
  const channel = await channelPayload(trx, row)
  if (!change || change.joined.length + change.left.length === 0) {
    return record(trx, { type: 'UPDATE_CHANNEL', payload: channel, routing: audienceOf(row) })
  }
  const membership = { joined: [...change.joined], left: [...change.left] }
  const routing = { ...audienceOf(row), membership }
  return record(trx, { type: 'UPDATE_CHANNEL', payload: { ...channel, ...membership }, routing })
}

/**
 * Tells those who joined or left a channel of the same kind as before: DELETE_CHANNEL and NEW_CHANNEL go to all streams of those who
 * lose or gain it with their membership, and to the streams of joined channels of those who may read it all the time. The rows of these
 * people are locked, so their roles stay the same. `gone` is the channel as those know it who lose it.
 */
export async function recordMembershipChanged(
  trx: Transaction,
  row: ChannelRow,
  { joined, left }: MemberChange,
  gone: { id: string; name: string } = { id: row.id, name: row.name },
): Promise<void> {
  const readWithoutJoining = await findReadersWithoutJoining(trx, row.kind, [...joined, ...left])
  const may = (id: string) => readWithoutJoining.has(id)
  const losers = left.filter((id) => !may(id))
  const gainers = joined.filter((id) => !may(id))
  if (losers.length > 0) await record(trx, { type: 'DELETE_CHANNEL', payload: gone, routing: onlyUsers(...losers) })
  if (gainers.length > 0) {
    const payload = { ...(await channelPayload(trx, row)), lastSeq: row.lastSeq }
    await record(trx, { type: 'NEW_CHANNEL', payload, routing: onlyUsers(...gainers) })
  }
  await recordForJoinedStreams(trx, row, { joined: joined.filter(may), left: left.filter(may) })
}

/**
 * Tells those who joined or left, on their streams of joined channels, that the channel is there or is not. For people who may read
 * it all the time: the channel is nothing new to their other streams.
 */
export async function recordForJoinedStreams(
  trx: Transaction,
  row: ChannelRow,
  { joined, left }: MemberChange,
): Promise<void> {
  if (left.length > 0) {
    const payload = { id: row.id, name: row.name }
    await record(trx, { type: 'DELETE_CHANNEL', payload, routing: onlyJoinedStreams(...left) })
  }
  if (joined.length === 0) return
  const payload = { ...(await channelPayload(trx, row)), lastSeq: row.lastSeq }
  await record(trx, { type: 'NEW_CHANNEL', payload, routing: onlyJoinedStreams(...joined) })
  // NEW_CHANNEL says that everything in it is read.
  for (const { id, readState } of await listUnread(trx, row, joined)) {
    const payload = { channelId: row.id, ...readState }
    await record(trx, { type: 'READ_UPDATE', payload, routing: onlyJoinedStreams(id) })
  }
}

/**
 * Tells the streams of `scope=joined` how many members a channel has that a removed person was in (UPDATE_CHANNEL). Other streams
 * know its members, and learn from REMOVE_USER who is none any more.
 */
export const recordMemberRemoved = (trx: Transaction, row: ChannelRow, userId: string): Promise<void> =>
  record(trx, {
    type: 'UPDATE_CHANNEL',
    payload: { ...summaryOf(row), joined: [], left: [userId] },
    routing: { ...audienceOf(row), scopedOnly: true },
  })

/** Where those of these people stand who have not read all of the channel. */
async function listUnread(db: Reader, { id, lastSeq }: ChannelRow, userIds: readonly string[]) {
  if (lastSeq === 0) return []
  const rows = await db
    .selectFrom('users')
    .innerJoin('channels', (join) => join.on('channels.id', '=', id))
    .select(['users.id', readStateOf(sql<string>`users.id`).as('readState')])
    .where('users.id', '=', anyOf([...userIds]))
    .execute()
  return rows.filter(({ readState }) => readState.readSeq < lastSeq)
}
