import type { ChannelKind } from '@parley/database'
import { type Expression, sql } from 'kysely'

/** What the rule needs to know about somebody. */
export interface Reading {
  isAdmin: boolean
  /** Of the channel, or participant of the conversation. */
  isMember: boolean
}

/**
 * The rule who may read a channel or conversation, and post to it: everybody a public channel, admins and members a private
 * one, its two participants a conversation. `canRead` is the same rule in SQL.
 */
export const isReader = (kind: ChannelKind, { isAdmin, isMember }: Reading): boolean =>
  kind === 'public' || (kind === 'private' && isAdmin) || isMember

/** A user of a statement: values, or columns of the statement. */
export interface SqlUser {
  userId: string | Expression<string>
  isAdmin: boolean | Expression<boolean>
}

/**
 * `isReader` in SQL: whether the user may read the row of `channels` with this alias. `offset 0` keeps it one look-up by the
 * primary key of `channel_members` for each row, whatever the statistics say. Whether the channel was deleted is not asked.
 */
export const canRead = (channel: string, { userId, isAdmin }: SqlUser) => sql<boolean>`(
  ${sql.ref(`${channel}.kind`)} = 'public' or ${sql.ref(`${channel}.kind`)} = 'private' and ${isAdmin}::boolean or exists (
    select from channel_members member
    where member.channel_id = ${sql.ref(`${channel}.id`)} and member.user_id = ${userId}::uuid offset 0))`

/**
 * The same for a channel or conversation whose row id stands in a column; false for a deleted one. It judges the rows that a
 * statement has found, one by one: it is not meant for finding what somebody may read.
 */
export const canReadById = (channelIdColumn: string, user: SqlUser) => sql<boolean>`exists (
  select from channels channel
  where channel.id = ${sql.ref(channelIdColumn)} and channel.deleted_at is null and ${canRead('channel', user)} offset 0)`
