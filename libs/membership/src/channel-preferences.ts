import { type Audience, onlyUsers } from '@parley/contract'
import { anyOf, type ChannelRow, recordAll, type Transaction } from '@parley/database'
import { sql } from 'kysely'

/** The fields of ChannelPreferences, for a statement with `joinPreferences`. */
export const preferencesColumns = sql`
  coalesce(preferences.is_muted, false) as "isMuted", coalesce(preferences.is_favourite, false) as "isFavourite",
  coalesce(preferences.notifies_of_all, false) as "notifiesOfAll"`

/** Joins what this person has set to the channels or conversations of a statement, after `channels`. Served by the primary key. */
export const joinPreferences = (userId: string) => sql`
  left join channel_preferences preferences on preferences.channel_id = channels.id and preferences.user_id = ${userId}`

/**
 * Records UPDATE_CHANNEL_PREFERENCES for those of these people who have set something, after a NEW_CHANNEL, which means
 * to clients that nothing is set. Without `userIds`, for everybody. Served by channel_preferences_of_channel.
 */
export async function recordPreferences(
  trx: Transaction,
  { id: channelId }: ChannelRow,
  userIds?: readonly string[],
  audience: (userId: string) => Audience = onlyUsers,
): Promise<void> {
  const rows = await trx
    .selectFrom('channelPreferences')
    .select(['userId', 'isMuted', 'isFavourite', 'notifiesOfAll'])
    .where('channelId', '=', channelId)
    .$if(userIds !== undefined, (query) => query.where('userId', '=', anyOf([...userIds!])))
    .execute()
  await recordAll(
    trx,
    rows.map(({ userId, ...preferences }) => ({
      type: 'UPDATE_CHANNEL_PREFERENCES',
      payload: { channelId, ...preferences },
      routing: audience(userId),
    })),
  )
}
