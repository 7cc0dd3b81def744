import { type ChannelRow, record, type Transaction } from '@parley/database'
import {
  channelPayload,
  type MemberChange,
  recordChannelUpdated,
  recordForJoinedStreams,
  recordMembershipChanged,
  recordPreferences,
} from '@parley/membership'

/** A channel with its members, before or after a change. */
export interface ChannelState {
  row: ChannelRow
  members: string[]
}

/**
 * Records the events of a change. People who lose access get the old name, because they must not learn anything newer.
 * When the channel becomes private, all outsiders lose access. When it becomes public, all of them gain access.
 */
export async function recordChannelChanged(
  trx: Transaction,
  before: ChannelState,
  after: ChannelState,
  change: MemberChange,
): Promise<void> {
  const gone = { id: before.row.id, name: before.row.name }
  if (before.row.kind === after.row.kind) {
    await recordMembershipChanged(trx, after.row, change, gone)
    return recordChannelUpdated(trx, after.row, change)
  }

  const outsiders = { to: 'outsiders', channel: gone.id } as const
  if (after.row.kind === 'private') {
    const routing = { ...outsiders, members: after.members }
    await record(trx, { type: 'DELETE_CHANNEL', payload: gone, routing })
  } else {
    const payload = { ...(await channelPayload(trx, after.row)), lastSeq: after.row.lastSeq }
    await record(trx, { type: 'NEW_CHANNEL', payload, routing: { ...outsiders, members: before.members } })
    await recordPreferences(trx, after.row)
  }
  await recordForJoinedStreams(trx, after.row, change)
  return recordChannelUpdated(trx, after.row)
}
