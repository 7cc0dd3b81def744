import { canRead } from '@parley/access'
import { type Channel, limits, type ReadState } from '@parley/contract'
import { type ChannelRow, isRowId, type Reader, type Tables, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { membersOfRow } from '@parley/membership'
import { readStateColumns } from '@parley/read-states'
import { listAsJson, type PageRequest } from '@parley/service'
import { type Insertable, type RawBuilder, sql, type Updateable } from 'kysely'

type Belonging = { isMember: boolean }
export type ListedChannel = Channel & Belonging & ReadState
/** As it stands in a listing without members. */
export type ChannelSummary = Omit<ListedChannel, 'members'>

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

/** One channel as it stands in the listing, without its members, however many there are. */
export async function findChannelSummary(db: Reader, caller: Caller, channelId: string): Promise<ChannelSummary> {
  const { rows } = await listed(caller, sql`select * from channels where id = ${channelId}`, sql``).execute(db)
  return rows[0]!
}

const withMembers = sql`${membersOfRow} as members,`

/** The items of the listing for these channels, by name. */
const listed = (caller: Caller, channels: RawBuilder<unknown>, members = withMembers) => sql<ListedChannel>`
  select id, name, topic, kind = 'private' as "isPrivate", ${members} member_count as "memberCount",
    exists (
      select from channel_members m where m.channel_id = channels.id and m.user_id = ${caller.userId} offset 0) as "isMember",
    created_by as "createdBy", created_at as "createdAt", updated_at as "updatedAt", read_state.*
  from (${channels}) channels, ${readStateColumns(caller.userId)} read_state
  order by name_key`

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

export const insertChannel = (trx: Transaction, row: Insertable<Tables['channels']>): Promise<ChannelRow> =>
  trx.insertInto('channels').values(row).returningAll().executeTakeFirstOrThrow()

export const updateChannel = (trx: Transaction, id: string, row: Updateable<Tables['channels']>): Promise<ChannelRow> =>
  trx.updateTable('channels').set(row).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
