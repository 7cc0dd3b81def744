import { accessChannel } from '@parley/access'
import { forbidden } from '@parley/contract'
import type { ChannelRow, Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'

/**
 * The channel, locked until the transaction ends, if the caller may change it: its creator and admins.
 * @throws ApiError 404 when there is no such channel, 403 for everybody else.
 */
export async function lockOwnChannel(trx: Transaction, caller: Caller, channelId: string): Promise<ChannelRow> {
  const channel = await accessChannel(trx, caller, channelId, { lock: true })
  if (!caller.isAdmin && channel.createdBy !== caller.userId) {
    throw forbidden('Only the creator of the channel or an admin may do this')
  }
  return channel
}
