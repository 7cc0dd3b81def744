import { canRead } from '@parley/access'
import { type Channel, limits, type ReadState } from '@parley/contract'
import { anyOf, type ChannelRow, isRowId, type Reader, type Tables, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { readStateColumns } from '@parley/read-states'
import { listAsJson, type PageRequest } from '@parley/service'
import { type Insertable, type RawBuilder, sql, type Updateable } from 'kysely'

export type ListedChannel = Channel & ReadState

// One order everywhere: the creator, then who joined first. Needs `channels` in the statement.
const membersOfRow = sql<string[]>`array(
  select m.user_id::text from channel_members m where m.channel_id = channels.id
  order by m.user_id <> channels.created_by, m.joined_at, m.user_id
)`

/**
 * The JSON text of `{channels: (Channel & ReadState)[], hasMore}`: the channels that the caller may read with their members
 * and where the caller stands, by name. Served by channels_live_name; what is not the caller's is passed over there. One that
 * was deleted since the page before still has a place.
 */
export const listChannels = (db: Reader, caller: Caller, page: PageRequest): Promise<string> =>
  listAsJson(db, page, {
    name: 'channels',
    most: limits.pageSize,
    placeOf: (id) => sql`
      select name_key as key from channels where id = ${id} and kind <> 'direct' and ${canRead('channels', caller)}`,
    items: ({ after, limit }) =>
      listed(
        caller,
        sql`select * from channels
          where deleted_at is null and kind <> 'direct' and ${canRead('channels', caller)} and ${after('>', 'name_key')}
          order by name_key ${limit}`,
      ),
  })

/** One channel as it stands in the listing. The caller must have access to it. */
export async function findListedChannel(db: Reader, caller: Caller, channelId: string): Promise<ListedChannel> {
  const { rows } = await listed(caller, sql`select * from channels where id = ${channelId}`).execute(db)
  return rows[0]!
}

/** The items of the listing for these channels, by name. */
const listed = (caller: Caller, channels: RawBuilder<unknown>) => sql<ListedChannel>`
  select id, name, topic, kind = 'private' as "isPrivate", ${membersOfRow} as members, created_by as "createdBy",
    created_at as "createdAt", updated_at as "updatedAt", read_state.*
  from (${channels}) channels, ${readStateColumns(caller.userId)} read_state
  order by name_key`

/** The ids of the members: the creator, then who joined first. */
export async function listMembers(db: Reader, channelId: string): Promise<string[]> {
  const { members } = await db
    .selectFrom('channels')
    .select(membersOfRow.as('members'))
    .where('id', '=', channelId)
    .executeTakeFirstOrThrow()
  return members
}

/** The members of a private channel, without its lock; nobody for any other channel. */
export async function listPrivateMembers(db: Reader, channelId: string): Promise<string[]> {
  if (!isRowId(channelId)) return []
  const rows = await db
    .selectFrom('channelMembers')
    .innerJoin('channels', 'channels.id', 'channelMembers.channelId')
    .select('userId')
    .where('channelId', '=', channelId)
    .where('kind', '=', 'private')
    .execute()
  return rows.map(({ userId }) => userId)
}

/** Those of these people who are admins. */
export async function findAdmins(db: Reader, userIds: string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('users')
    .select('id')
    .where('id', '=', anyOf(userIds))
    .where('isAdmin', '=', true)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

export const insertChannel = (trx: Transaction, row: Insertable<Tables['channels']>): Promise<ChannelRow> =>
  trx.insertInto('channels').values(row).returningAll().executeTakeFirstOrThrow()

export const updateChannel = (trx: Transaction, id: string, row: Updateable<Tables['channels']>): Promise<ChannelRow> =>
  trx.updateTable('channels').set(row).where('id', '=', id).returningAll().executeTakeFirstOrThrow()

export const insertMembers = (trx: Transaction, channelId: string, userIds: string[], joinedAt: number) =>
  sql`insert into channel_members (channel_id, user_id, joined_at)
      select ${channelId}::uuid, user_id, ${joinedAt}::bigint from unnest(${userIds}::uuid[]) as user_id`.execute(trx)

export const deleteMembers = (trx: Transaction, channelId: string, userIds: string[]) =>
  trx.deleteFrom('channelMembers').where('channelId', '=', channelId).where('userId', '=', anyOf(userIds)).execute()
