import { audienceOf, type Channel, type EventPayload, limits, onlyJoinedStreams, onlyUsers } from '@parley/contract'
import { anyOf, type ChannelRow, type Reader, record, recordAll, type Transaction } from '@parley/database'
import { readStateOf } from '@parley/read-states'
import { sql } from 'kysely'
import { recordPreferences } from './channel-preferences.ts'
import { findReadersWithoutJoining, listMembers, type MemberChange } from './members.queries.ts'

/** A channel as responses have it. */
export const channelView = (row: ChannelRow, members: string[]): Channel => ({ ...summaryOf(row), members })

/** The payload of a channel's events. The list of members of a large channel is left out, so that the payload stays small. */
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
 * Records UPDATE_CHANNEL with the present state of a channel, for its audience. With `change`, the realtime nodes need
 * not read the members again. It must then be the whole change of members since the previous version.
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
 * Records DELETE_CHANNEL and NEW_CHANNEL for people who joined or left a channel whose kind has not changed. People who
 * gain or lose access with their membership get the events on all streams. People who may read the channel anyway get
 * them only on streams of `scope=joined`. The rows of these people must be locked, so that their roles stay the same.
 * `gone` is the channel as the people know it who lose access.
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
    await recordPreferences(trx, row, gainers)
  }
  await recordForJoinedStreams(trx, row, { joined: joined.filter(may), left: left.filter(may) })
}

/**
 * Records NEW_CHANNEL and DELETE_CHANNEL for the streams of `scope=joined` of people who joined or left and may read
 * the channel anyway. Their other streams know the channel already.
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
  await recordPreferences(trx, row, joined, onlyJoinedStreams)
  // For clients, NEW_CHANNEL means that everything in it is read.
  const unread = await listUnread(trx, row, joined)
  await recordAll(
    trx,
    unread.map(({ id, readState }) => ({
      type: 'READ_UPDATE',
      payload: { channelId: row.id, ...readState },
      routing: onlyJoinedStreams(id),
    })),
  )
}

/**
 * Records UPDATE_CHANNEL with the new number of members of a removed person's channels, for streams of `scope=joined`.
 * Other streams know the members, and get REMOVE_USER.
 */
export const recordMemberRemoved = (trx: Transaction, rows: readonly ChannelRow[], userId: string): Promise<void> =>
  recordAll(
    trx,
    rows.map((row) => ({
      type: 'UPDATE_CHANNEL',
      payload: { ...summaryOf(row), joined: [], left: [userId] },
      routing: { ...audienceOf(row), scopedOnly: true },
    })),
  )

/** The read states of those of these people who have unread messages in the channel. */
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
