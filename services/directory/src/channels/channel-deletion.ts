import type { Act } from '@parley/accounts'
import { audienceOf } from '@parley/contract'
import { audit, type Database, record, recordJob } from '@parley/database'
import { lockOwnChannel } from './channel-ownership.ts'
import { updateChannel } from './channels.queries.ts'

/**
 * Deletes a channel for its creator or an admin, and tells who could read it (DELETE_CHANNEL). The row is only marked, however
 * much is in the channel: a job purges it afterwards. Memberships stay for a day, they say who is to be told.
 * @throws ApiError 404 when there is no such channel, 403 for everybody else.
 */
export function deleteChannel(db: Database, { caller, ip, now }: Act, channelId: string): Promise<void> {
  return db.transaction().execute(async (trx) => {
    const channel = await lockOwnChannel(trx, caller, channelId)

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
