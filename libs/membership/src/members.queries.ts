import { isReader } from '@parley/access'
import { anyOf, type ChannelKind, type ChannelRow, isRowId, type Reader, type Transaction } from '@parley/database'
import { sql } from 'kysely'

/**
 * Locks these people, so that they are not removed until the transaction ends, and returns the ids of the live ones.
 * People must be locked before any channel.
 */
export async function lockLivePeople(trx: Transaction, userIds: readonly string[]): Promise<Set<string>> {
  const rows = await trx
    .selectFrom('users')
    .select('id')
    .where('id', '=', anyOf(userIds.filter(isRowId)))
    .where('removedAt', 'is', null)
    .orderBy('id')
    .forShare()
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/**
 * Those of these people who may read a channel of this kind without being members. The result stays true as long as
 * their rows are locked (`lockLivePeople`).
 */
export async function findReadersWithoutJoining(
  db: Reader,
  kind: ChannelKind,
  userIds: readonly string[],
): Promise<Set<string>> {
  if (userIds.length === 0) return new Set()
  const rows = await db
    .selectFrom('users')
    .select(['id', 'role'])
    .where('id', '=', anyOf([...userIds]))
    .execute()
  return new Set(rows.filter(({ role }) => isReader(kind, { role, isMember: false })).map(({ id }) => id))
}

export const isMember = async (db: Reader, channelId: string, userId: string): Promise<boolean> =>
  (await db
    .selectFrom('channelMembers')
    .select('userId')
    .where('channelId', '=', channelId)
    .where('userId', '=', userId)
    .executeTakeFirst()) !== undefined

/** Those of these people who are not members of the channel. Served by the primary key. */
export async function findOutsiders(db: Reader, channelId: string, userIds: readonly string[]): Promise<string[]> {
  const members = await db
    .selectFrom('channelMembers')
    .select('userId')
    .where('channelId', '=', channelId)
    .where('userId', '=', anyOf([...userIds]))
    .execute()
  const ids = new Set(members.map(({ userId }) => userId))
  return userIds.filter((id) => !ids.has(id))
}

/** The ids of the members: the creator, then the others by the time of joining. The statement must select from `channels`. */
export const membersOfRow = sql<string[]>`array(
  select m.user_id::text from channel_members m where m.channel_id = channels.id
  order by m.user_id <> channels.created_by, m.joined_at, m.user_id
)`

/** The ids of the members: the creator, then the others by the time of joining. */
export async function listMembers(db: Reader, channelId: string): Promise<string[]> {
  const { members } = await db
    .selectFrom('channels')
    .select(membersOfRow.as('members'))
    .where('id', '=', channelId)
    .executeTakeFirstOrThrow()
  return members
}

export interface MemberChange {
  joined: readonly string[]
  left: readonly string[]
}

/**
 * Adds the `joined` people to a channel and removes those who `left`. Increments `members_version` and returns the
 * changed channel. Call it under the channel's lock. The `joined` people must not be members yet, and those who `left`
 * must be. Without `byHand`, people are members only as long as they are in a group of the channel.
 */
export async function changeMembers(
  trx: Transaction,
  channelId: string,
  { joined, left }: MemberChange,
  { now, byHand = true }: { now: number; byHand?: boolean },
): Promise<ChannelRow> {
  if (joined.length > 0) {
    await sql`insert into channel_members (channel_id, user_id, joined_at, by_hand)
      select ${channelId}::uuid, user_id, ${now}::bigint, ${byHand}::boolean from unnest(${joined}::uuid[]) as user_id`.execute(
      trx,
    )
  }
  if (left.length > 0) {
    await trx
      .deleteFrom('channelMembers')
      .where('channelId', '=', channelId)
      .where('userId', '=', anyOf([...left]))
      .execute()
  }
  return trx
    .updateTable('channels')
    .set(({ eb }) => ({ membersVersion: eb('membersVersion', '+', 1) }))
    .where('id', '=', channelId)
    .returningAll()
    .executeTakeFirstOrThrow()
}
