import { anyOf, type Database } from '@parley/database'
import { sql } from 'kysely'

export type FoundChannel = Awaited<ReturnType<typeof listChannels>>[number]

/**
 * Reads channels, including deleted ones, whose last event still has an audience. It is one statement, so that version
 * and members agree. The members are read as one text, because the driver is slow at reading arrays and there may be
 * thousands.
 */
export const listChannels = (db: Database, ids: string[], withPublic: boolean) =>
  db
    .selectFrom('channels')
    .select(({ selectFrom }) => [
      'id',
      'kind',
      'membersVersion',
      selectFrom('channelMembers')
        .whereRef('channelId', '=', 'channels.id')
        .select(sql<string>`string_agg(user_id::text, ',')`.as('members'))
        .where(({ or, val }) => or([val(withPublic), sql<boolean>`channels.kind <> 'public'`]))
        .as('members'),
    ])
    .where('id', '=', anyOf(ids))
    .execute()

/** The ids of the channels and conversations of each of these people. Served by channel_members_of_user. */
export async function listJoined(db: Database, userIds: readonly string[]): Promise<string[][]> {
  const { rows } = await sql<{ userId: string; channels: string | null }>`
    select asked.id as user_id, found.channels
    from unnest(${userIds}::uuid[]) as asked (id) cross join lateral (
      select string_agg(m.channel_id::text, ',') as channels from channel_members m where m.user_id = asked.id offset 0
    ) found`.execute(db)
  const found = new Map(rows.map(({ userId, channels }) => [userId, channels?.split(',') ?? []]))
  return userIds.map((userId) => found.get(userId) ?? [])
}
