import { canSee } from '@parley/access'
import { nameKey } from '@parley/accounts'
import { invalid, limits } from '@parley/contract'
import { type ChannelRow, isRowId, type Reader, type UserRow, userColumns } from '@parley/database'
import type { Caller } from '@parley/identity'
import { keyOfId, listAsJson, type OrderedPageRequest } from '@parley/service'
import { type RawBuilder, sql } from 'kysely'

type Viewer = Pick<Caller, 'userId' | 'role'>

/** The person or bot with this id; undefined when there is none, or when they were removed. */
export const findLiveUser = async (db: Reader, id: string): Promise<UserRow | undefined> =>
  isRowId(id)
    ? db.selectFrom('users').selectAll().where('id', '=', id).where('removedAt', 'is', null).executeTakeFirst()
    : undefined

/**
 * The JSON text of `{users: User[], hasMore}`: all people whom the caller can see, by name or id. Served by users_live_name or the
 * primary key.
 * The last person of the previous page may have left meanwhile.
 */
export function listUsers(db: Reader, caller: Viewer, { order, ...page }: OrderedPageRequest): Promise<string> {
  const sortedBy = order === 'id' ? 'id' : 'user_name_key'
  return listAsJson(db, page, {
    ...peopleListing,
    most: limits.peoplePageSize,
    sortKeyOf: order === 'id' ? keyOfId : sortKeyByName,
    items: ({ after, limit }) => sql`
      select ${userColumns} from users where removed_at is null and ${after('>', sortedBy)} and ${canSee(sql.ref('users.id'), caller)}
      order by ${sql.ref(sortedBy)} ${limit}`,
  })
}

/** Like `listUsers`, for the people with these ids. Unknown ids are skipped. */
export const listUsersById = (db: Reader, caller: Viewer, ids: readonly string[]): Promise<string> =>
  listAsJson(
    db,
    {},
    {
      ...peopleListing,
      items: () => sql`
        select ${userColumns} from users where id = any(${ids.filter(isRowId)}::uuid[]) and removed_at is null
          and ${canSee(sql.ref('users.id'), caller)}
        order by user_name_key`,
    },
  )

const sortKeyByName = (id: string) => sql`select user_name_key as key from users where id = ${id}`

const peopleListing = { name: 'users', most: limits.pageSize, sortKeyOf: sortKeyByName }

interface UserSearch {
  q: string
  limit: number
  /** A channel whose members come first. */
  channel?: ChannelRow | undefined
}

/**
 * Like `listUsers`, for people whose address, or a word of whose name, begins with `q`, in the order of these words. Case and accents are
 * ignored.
 * Served by user_words.
 * @throws ApiError 400 when `q` is blank.
 */
export function searchUsers(
  db: Reader,
  caller: Viewer,
  { q, limit: requestedLimit, channel }: UserSearch,
): Promise<string> {
  const prefix = readPrefix(q)
  return listAsJson(
    db,
    { limit: requestedLimit },
    {
      ...peopleListing,
      items: ({ limit }) => {
        const isVisible = canSee(sql.ref('w.user_id'), caller)
        const found = channel
          ? sql`
            with members as materialized (${membersFound(prefix, channel, isVisible, limit)}), others as materialized (
              select * from (${peopleFound(prefix, sql`${isVisible} and not ${isMemberOf(channel, 'w.user_id')}`, limit)}) others
              where (select count(*) from members) <= ${requestedLimit})
            select 0 as rank, members.* from members union all select 1, others.* from others`
          : sql`select 0 as rank, people.* from (${peopleFound(prefix, isVisible, limit)}) people`
        return sql`
          select ${userColumns}
          from (select * from (${found}) unordered order by rank, entry ${limit}) found, lateral (
            select * from users where users.id = found.user_id offset 0) person
          order by rank, entry`
      },
    },
  )
}

/**
 * Like `listUsers`, for deactivated people whose address, or a word of whose name, begins with `q`. They have no
 * entries in user_words, which is for completion, so all of them are read.
 * @throws ApiError 400 when `q` is blank.
 */
export function searchDeactivated(db: Reader, q: string, requestedLimit: number): Promise<string> {
  const prefix = readPrefix(q)
  return listAsJson(
    db,
    { limit: requestedLimit },
    {
      ...peopleListing,
      items: ({ limit }) => sql`
        select ${userColumns} from users where removed_at is null and deactivated_at is not null and exists (
          select from user_entries(id, array[user_name_key, lower(display_name)], email) entry where ${isFoundBy(prefix, 'entry')})
        order by user_name_key ${limit}`,
    },
  )
}

/**
 * The JSON text of `{members: {id, userName}[], hasMore}`: the members of a channel, by name or id, with `q` like
 * `searchUsers`. The members of a small channel are read and sorted. For a large one, people are read in the order of
 * names, because most of them are members.
 */
export function listChannelMembers(
  db: Reader,
  channel: ChannelRow,
  { q, order, ...page }: OrderedPageRequest & { q?: string | undefined },
): Promise<string> {
  const listing = { name: 'members', most: limits.pageSize }
  if (q !== undefined) {
    const prefix = readPrefix(q)
    return listAsJson(db, page, {
      ...listing,
      sortKeyOf: (id) => sql`
        select entry as key from user_words where user_id = ${id} and ${isFoundBy(prefix, 'entry')} order by entry limit 1`,
      items: ({ after, limit }) => sql`
        select person.id, person.user_name as "userName"
        from (${membersFound(prefix, channel, after('>', 'w.entry'), limit)}) found, lateral (
          select * from users where users.id = found.user_id offset 0) person
        order by entry`,
    })
  }
  if (order === 'id')
    return listAsJson(db, page, {
      ...listing,
      sortKeyOf: keyOfId,
      items: ({ after, limit }) => sql`
        select users.id, user_name as "userName" from channel_members m join users on users.id = m.user_id
        where m.channel_id = ${channel.id} and removed_at is null and ${after('>', 'm.user_id')}
        order by m.user_id ${limit}`,
    })
  return listAsJson(db, page, {
    ...listing,
    sortKeyOf: sortKeyByName,
    items: ({ after, limit }) =>
      channel.memberCount <= smallChannel
        ? sql`
          select person.id, user_name as "userName" from channel_members m, lateral (
            select * from users where users.id = m.user_id and removed_at is null offset 0) person
          where m.channel_id = ${channel.id} and ${after('>', 'user_name_key')}
          order by user_name_key ${limit}`
        : sql`
          select id, user_name as "userName" from users
          where removed_at is null and ${after('>', 'user_name_key')} and ${isMemberOf(channel, 'users.id')}
          order by user_name_key ${limit}`,
  })
}

/** With up to this number of members all of them are read. It is one in fifty of 50,000 people. */
const smallChannel = 1_000

/** @throws ApiError 400 when nothing visible is left. */
function readPrefix(q: string): string {
  const prefix = nameKey(q).trim()
  if (prefix === '') throw invalid('q must not be blank')
  return prefix
}

/**
 * Accents are ignored, as in one of the entries of each name. The entries of `user_words` are in the order of code points, and U+10FFFF
 * is the last code point.
 */
const isFoundBy = (prefix: string, entry: string) =>
  sql`${sql.ref(entry)} >= fold_accents(${prefix}) and ${sql.ref(entry)} < fold_accents(${prefix}) || ${'\u{10ffff}'}`

const isMemberOf = ({ id }: ChannelRow, userIdColumn: string) => sql<boolean>`exists (
  select from channel_members m where m.channel_id = ${id} and m.user_id = ${sql.ref(userIdColumn)} offset 0)`

/** The matching people, each with the first matching word. Entries are read in order until there are enough. */
const peopleFound = (prefix: string, condition: RawBuilder<unknown>, limit: RawBuilder<unknown>) => sql`
  select w.user_id, w.entry from user_words w
  where ${isFoundBy(prefix, 'w.entry')} and ${condition} and not exists (
    select from user_words earlier
    where earlier.user_id = w.user_id and ${isFoundBy(prefix, 'earlier.entry')} and earlier.entry < w.entry offset 0)
  order by w.entry ${limit}`

/** The members of the channel among the matching people. */
const membersFound = (
  prefix: string,
  channel: ChannelRow,
  condition: RawBuilder<unknown>,
  limit: RawBuilder<unknown>,
) =>
  channel.memberCount <= smallChannel
    ? sql`
      select w.user_id, w.entry from channel_members m, lateral (
        select user_id, entry from user_words where user_id = m.user_id and ${isFoundBy(prefix, 'entry')}
        order by entry limit 1) w
      where m.channel_id = ${channel.id} and ${condition}
      order by w.entry ${limit}`
    : peopleFound(prefix, sql`${condition} and ${isMemberOf(channel, 'w.user_id')}`, limit)
