import { anyOf, type Transaction } from '@parley/database'
import { joinPublicChannels } from '@parley/membership'
import { nameKey } from './names.ts'

interface AutoJoin {
  /** `chat.autoJoin`: names of the public channels that new people join beside General. */
  autoJoin?: readonly string[] | undefined
  now: number
}

/** Adds a new person to General and the channels of `autoJoin`, which stay locked until the transaction ends. */
export const joinDefaultChannels = (
  trx: Transaction,
  userId: string,
  { autoJoin = [], now }: AutoJoin,
): Promise<void> => joinPublicChannels(trx, { userIds: [userId], nameKeys: nameKeysOf(autoJoin), now })

/**
 * Does the same, for at most 100 people at a time, whom the previous version created during an upgrade. That version
 * does not add new people to channels. Returns their number. New guests and bots join no channel. People whose rows are
 * locked are left for the next call. Served by users_not_auto_joined.
 */
export async function joinMissedChannels(trx: Transaction, { autoJoin = [], now }: AutoJoin): Promise<number> {
  const people = await trx
    .selectFrom('users')
    .select(['id', 'role', 'isBot'])
    .where('autoJoined', '=', false)
    .where('removedAt', 'is', null)
    .orderBy('id')
    .limit(100)
    .forNoKeyUpdate()
    .skipLocked()
    .execute()
  if (people.length === 0) return 0

  const userIds = people.filter(({ role, isBot }) => role !== 'guest' && !isBot).map(({ id }) => id)
  await joinPublicChannels(trx, { userIds, nameKeys: nameKeysOf(autoJoin), now, haveStreams: true })
  await trx
    .updateTable('users')
    .set({ autoJoined: true })
    .where('id', '=', anyOf(people.map(({ id }) => id)))
    .execute()
  return people.length
}

const nameKeysOf = (autoJoin: readonly string[]) => ['General', ...autoJoin].map(nameKey)
