import type { Audience, Role } from '@parley/contract'
import type { ChannelKind, Reader } from '@parley/database'
import { type Expression, type RawBuilder, sql } from 'kysely'

/** The facts about a person that the rule needs. */
export interface Reading {
  role: Role
  /** Whether they are a member of the channel, or a participant of the conversation. */
  isMember: boolean
}

/**
 * The rule that decides who may read a channel or conversation, and post to it. Public channel: everybody except
 * guests, and guests who are members. Private channel: members, and admins. Conversation: its two participants.
 * `canRead` is the same rule in SQL.
 */
export const isReader = (kind: ChannelKind, { role, isMember }: Reading): boolean =>
  isMember || (kind === 'public' && role !== 'guest') || (kind === 'private' && role === 'admin')

/** The kinds of channels that people of this role may read without being members. */
export const kindsReadWithoutJoining = (role: Role): ('public' | 'private')[] =>
  (['public', 'private'] as const).filter((kind) => isReader(kind, { role, isMember: false }))

/**
 * Whether somebody gets an event for the people who cannot read a channel: those with the role `member` who have not
 * joined it.
 */
export const isOutsider = ({ role, isMember }: Reading): boolean => role === 'member' && !isMember

/** Whether somebody gets an event for everybody who is not a guest, and for the named guests. */
export const isNotGuestOrNamed = (role: Role, isNamed: boolean): boolean => role !== 'guest' || isNamed

/** A user of a statement: values, or columns of the statement. */
interface SqlUser {
  userId: string | Expression<string>
  role: Role | Expression<Role>
}

/**
 * `isReader` in SQL: whether the user may read the row of `channels` with this alias. `offset 0` makes PostgreSQL look
 * up the primary key of `channel_members` for each row, whatever the statistics say. It does not check whether the
 * channel was deleted.
 */
export const canRead = (channel: string, { userId, role }: SqlUser) => sql<boolean>`(
  ${canReadWithoutJoining(channel, role)} or exists (
    select from channel_members member
    where member.channel_id = ${sql.ref(`${channel}.id`)} and member.user_id = ${userId}::uuid offset 0))`

/** Whether somebody of this role may read the row of `channels` without being a member. */
export const canReadWithoutJoining = (channel: string, role: Role | Expression<Role>) => sql<boolean>`(
  ${sql.ref(`${channel}.kind`)} = 'public' and ${role}::text <> 'guest'
    or ${sql.ref(`${channel}.kind`)} = 'private' and ${role}::text = 'admin')`

/**
 * Whether the user may read the channel or conversation whose row id is in this column; false for a deleted one. It
 * checks the rows that a statement has found, one by one. To find all channels that somebody may read it would be too
 * slow.
 */
export const canReadById = (channelIdColumn: string, user: SqlUser) => sql<boolean>`exists (
  select from channels channel
  where channel.id = ${sql.ref(channelIdColumn)} and channel.deleted_at is null and ${canRead('channel', user)} offset 0)`

/**
 * The rule that decides who can see a person: guests see only themselves and the people with whom they share a channel
 * or a conversation, and everybody else sees all people. `personId` is a column of the statement, or an id.
 */
export const canSee = (
  personId: Expression<unknown>,
  { userId, role }: { userId: string; role: Role },
): RawBuilder<boolean> =>
  role === 'guest'
    ? sql<boolean>`(${personId} = ${userId}::uuid or ${sharesChannel(sql`${userId}::uuid`, personId)})`
    : sql<boolean>`true`

/** Whether two people share a channel. It reads the channels of the guest, which are few. Deleted channels do not count. */
const sharesChannel = (guestId: Expression<unknown>, personId: Expression<unknown>) => sql<boolean>`exists (
  select from channel_members own, lateral (
    select from channels c where c.id = own.channel_id and c.deleted_at is null offset 0) live
  where own.user_id = ${guestId} and exists (
    select from channel_members theirs where theirs.channel_id = own.channel_id and theirs.user_id = ${personId} offset 0)
  offset 0)`

interface UserAndChannel {
  userId: string
  /** The row id of a channel or conversation. */
  channelId: string
}

/**
 * Finds out for each of these pairs whether the user may read the channel now. The returned function says it for one pair.
 * Served by primary keys: with plain joins PostgreSQL may read all users and channels for a few pairs.
 */
export async function findReadable(
  db: Reader,
  pairs: readonly UserAndChannel[],
): Promise<(pair: UserAndChannel) => boolean> {
  const keyOf = ({ userId, channelId }: UserAndChannel) => `${userId} ${channelId}`
  const asked = [...new Map(pairs.map((pair) => [keyOf(pair), pair])).values()]
  const { rows } = await sql<UserAndChannel>`
    select t.user_id as "userId", t.channel_id as "channelId"
    from unnest(${asked.map(({ userId }) => userId)}::uuid[], ${asked.map(({ channelId }) => channelId)}::uuid[])
        as t (user_id, channel_id)
      cross join lateral (select id, role from users where users.id = t.user_id offset 0) u
      cross join lateral (select id, kind from channels where channels.id = t.channel_id offset 0) c
    where ${canRead('c', { userId: sql.ref('u.id'), role: sql.ref('u.role') })}`.execute(db)
  const readable = new Set(rows.map(keyOf))
  return (pair) => readable.has(keyOf(pair))
}

/** Whether the caller sees this person. */
export async function seesPerson(
  db: Reader,
  caller: { userId: string; role: Role },
  personId: string,
): Promise<boolean> {
  if (caller.role !== 'guest') return true
  const { rows } = await sql<{ sees: boolean }>`select ${canSee(sql`${personId}::uuid`, caller)} as sees`.execute(db)
  return rows[0]!.sees
}

/**
 * The audience of an event about a person: everybody who is not a guest, and the guests who can see the person. Served
 * by users_guests.
 */
export async function audienceOfPerson(db: Reader, personId: string): Promise<Audience> {
  const { rows } = await sql<{ id: string }>`
    select id from users
    where is_guest and not is_admin and removed_at is null and deactivated_at is null
      and (id = ${personId} or ${sharesChannel(sql.ref('users.id'), sql`${personId}::uuid`)})`.execute(db)
  return { to: 'everyone', guests: rows.map(({ id }) => id) }
}
