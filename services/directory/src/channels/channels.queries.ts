import { canRead, canReadWithoutJoining } from '@parley/access'
import { nameKey } from '@parley/accounts'
import { type Channel, type ChannelPreferences, invalid, limits, type ReadState } from '@parley/contract'
import { anyOf, type ChannelRow, isRowId, type Reader, type Tables, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { joinPreferences, membersOfRow, preferencesColumns } from '@parley/membership'
import { readStateColumns } from '@parley/read-states'
import { keyOfId, listAsJson, type OrderedPageRequest } from '@parley/service'
import { type Insertable, type RawBuilder, sql, type Updateable } from 'kysely'

export type ListedChannel = Channel & { isMember: boolean } & ChannelPreferences & ReadState
/** A channel as it is in a listing without members. */
export type ChannelSummary = Omit<ListedChannel, 'members'>

interface ChannelListing extends OrderedPageRequest {
  /** `joined`: only the channels of which the caller is a member. */
  scope?: 'all' | 'joined'
  members?: boolean
  /** Only public channels and the caller's own that have this text in name or topic, regardless of case and accents. */
  q?: string
}

/**
 * The JSON text of `{channels: ListedChannel[], hasMore}`: the channels that the caller may read, by name or id, with
 * members and the caller's read state and preferences. Served by channels_live_name or the primary key, where other channels are skipped, with `q` by
 * channels_grams, and with `scope` by channel_members_of_user. The last channel of the previous page may have been
 * deleted meanwhile.
 * @throws ApiError 400 when `q` is blank.
 */
export function listChannels(
  db: Reader,
  caller: Caller,
  { scope, members, q, order, ...page }: ChannelListing,
): Promise<string> {
  const { source, isListed } = channelsOf(caller, { scope, text: q === undefined ? undefined : foldedText(q) })
  // The result of a search is always ordered by name.
  const { sortedBy, sortKeyOf } = order === 'id' && q === undefined ? byId : byName(caller)

  return listAsJson(db, page, {
    name: 'channels',
    most: limits.pageSize,
    sortKeyOf,
    items: ({ after, limit }) =>
      listed(
        caller,
        sql`select * from ${source}
          where deleted_at is null and kind <> 'direct' and ${isListed} and ${after('>', sortedBy)}
          order by ${sql.ref(sortedBy)} ${limit}`,
        { members: members === false ? withoutMembers : withMembers, sortedBy },
      ),
  })
}

/** The orders of a listing: the column, and the statement that selects it for the last channel of the previous page. */
const byId = { sortedBy: 'id', sortKeyOf: keyOfId }
const byName = (caller: Caller) => ({
  sortedBy: 'name_key',
  sortKeyOf: (id: string) => sql`
    select name_key as key from channels where id = ${id} and kind <> 'direct' and ${canRead('channels', caller)}`,
})

/** The channels of a listing: the rows that it reads, and which of them it has. `text` is a folded text of a search. */
function channelsOf(
  caller: Caller,
  { scope, text }: { scope: ChannelListing['scope']; text: RawBuilder<unknown> | undefined },
): { source: RawBuilder<unknown>; isListed: RawBuilder<unknown> } {
  const isOwn = isMember(caller)
  if (text) {
    const isVisible =
      scope === 'joined' ? isOwn : sql`(${canReadWithoutJoining('channels', roleInSearches(caller))} or ${isOwn})`
    return { source: foundChannels(text), isListed: sql`${isVisible} and ${contains(text)}` }
  }
  if (scope === 'joined') return { source: joinedChannels(caller), isListed: isOwn }
  return { source: sql`channels`, isListed: canRead('channels', caller) }
}

/** Admins do not see the private channels of others in searches. */
const roleInSearches = ({ role }: Caller) => (role === 'admin' ? 'member' : role)

const contains = (text: RawBuilder<unknown>) =>
  sql`(strpos(fold_accents(name_key), ${text}) > 0 or strpos(fold_accents(lower(topic)), ${text}) > 0)`

/** The search text without case and accents. @throws ApiError 400 when it is blank. */
function foldedText(q: string): RawBuilder<unknown> {
  const text = nameKey(q).trim()
  if (text === '') throw invalid('q must not be blank')
  return sql`fold_accents(${text})`
}

const foundChannels = (text: RawBuilder<unknown>) => sql`(
  select c.* from channels_with_text(${text}) found, lateral (
    select * from channels where channels.id = found offset 0) c) channels`

const joinedChannels = ({ userId }: Caller) => sql`(
  select c.* from channel_members own, lateral (
    select * from channels where channels.id = own.channel_id offset 0) c
  where own.user_id = ${userId}) channels`

const isMember = ({ userId }: Caller) => sql<boolean>`exists (
  select from channel_members m where m.channel_id = channels.id and m.user_id = ${userId} offset 0)`

/** One channel as it is in the listing. The caller must have access to it. */
export async function findListedChannel(db: Reader, caller: Caller, channelId: string): Promise<ListedChannel> {
  const { rows } = await listed(caller, sql`select * from channels where id = ${channelId}`).execute(db)
  return rows[0]!
}

/** One channel as it is in the listing, without its members, of which there may be many. */
export async function findChannelSummary(db: Reader, caller: Caller, channelId: string): Promise<ChannelSummary> {
  const { rows } = await listed(caller, sql`select * from channels where id = ${channelId}`, {
    members: withoutMembers,
  }).execute(db)
  return rows[0]!
}

const withMembers = sql`${membersOfRow} as members,`
const withoutMembers = sql``

/** The items of the listing for these channels, by name. */
const listed = (
  caller: Caller,
  channels: RawBuilder<unknown>,
  { members = withMembers, sortedBy = 'name_key' } = {},
) => sql<ListedChannel>`
  select id, name, topic, kind = 'private' as "isPrivate", ${members} member_count as "memberCount",
    ${isMember(caller)} as "isMember", created_by as "createdBy", created_at as "createdAt",
    updated_at as "updatedAt", ${preferencesColumns}, read_state.*
  from (${channels}) channels ${joinPreferences(caller.userId)}, ${readStateColumns(caller.userId)} read_state
  order by ${sql.ref(sortedBy)}`

/** The members of a private channel, without a lock; an empty list for any other channel. */
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

/** Makes these people members of the channel only through its groups, and no longer by hand. */
export async function keepOnlyThroughGroups(
  trx: Transaction,
  channelId: string,
  userIds: readonly string[],
): Promise<void> {
  if (userIds.length === 0) return
  await trx
    .updateTable('channelMembers')
    .set({ byHand: false })
    .where('channelId', '=', channelId)
    .where('userId', '=', anyOf([...userIds]))
    .execute()
}
