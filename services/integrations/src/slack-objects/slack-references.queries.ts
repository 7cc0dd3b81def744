import { groupIdsIn, groupMention, type Message } from '@parley/contract'
import { anyOf, type ChannelKind, isRowId, type Reader } from '@parley/database'
import {
  type MrkdwnNames,
  mentionedGroupIds,
  mentionedIds,
  namedChannelIds,
  type SlackMentions,
  slackTs,
} from '@parley/slack'
import { sql } from 'kysely'
import { findTimestamps, type Named, type SlackTimestamps, tsOfRow } from './slack-timestamps.queries.ts'

/** What messages refer to, in Slack's form. */
export interface SlackReferences extends SlackTimestamps {
  mentionsIn(message: Mentioning): SlackMentions
  /** The `ts` of the newest reply; undefined when the message has none. */
  ofLatestReply(message: Mentioning): string | undefined
  /** The address of the server, for the addresses of files. */
  appUrl: string
}

/** What the translation of messages needs: `Deps`, or a part of it. */
export interface SlackSource {
  db: Reader
  config: { auth: { appUrl: string } }
}

type Mentioning = Pick<Message, 'id' | 'mentions' | 'threadMeta'>
/** The name, in lower case, and Slack's form of a mention. */
type SlackMention = readonly [name: string, written: string]

/**
 * Finds the `ts` of these messages and of the newest replies to them, and the names of all whom they mention. Served by
 * primary keys and messages_of_thread.
 */
export async function findReferences(
  { db, config }: SlackSource,
  messages: readonly (Named & Mentioning)[],
): Promise<SlackReferences> {
  const parents = messages.filter(({ threadMeta }) => threadMeta)
  const [timestamps, mentioned, latest] = await Promise.all([
    findTimestamps(db, messages),
    findMentioned(db, [...new Set(messages.flatMap(({ mentions }) => mentions))]),
    findLatestReplies(
      db,
      parents.map(({ id }) => id),
    ),
  ])
  return {
    ...timestamps,
    appUrl: config.auth.appUrl,
    ofLatestReply: ({ id }) => latest.get(id),
    mentionsIn: ({ mentions }) =>
      new Map(mentions.map((each) => mentioned.get(each)).filter((found) => found !== undefined)),
  }
}

/** The `ts` of the newest reply to each of these messages. */
async function findLatestReplies(db: Reader, parentIds: readonly string[]): Promise<Map<string, string>> {
  if (parentIds.length === 0) return new Map()
  const rows = await db
    .selectFrom(sql<{ parentId: string }>`unnest(${parentIds}::uuid[])`.as<'parents'>(sql`parents(parent_id)`))
    .innerJoinLateral(
      (eb) =>
        eb
          .selectFrom('messages')
          .select(['seq', 'createdAt', 'ts'])
          .whereRef('threadId', '=', 'parents.parentId')
          .where('deletedAt', 'is', null)
          .orderBy('seq', 'desc')
          .limit(1)
          .as('newest'),
      (join) => join.onTrue(),
    )
    .select(['parentId', 'seq', 'createdAt', 'ts'])
    .execute()
  return new Map(rows.map((row) => [row.parentId, slackTs(tsOfRow(row))]))
}

/** Each mention with its name and Slack's form. People and groups that have got another name keep their old one in texts. */
async function findMentioned(db: Reader, mentions: readonly string[]): Promise<Map<string, SlackMention>> {
  const groupIds = groupIdsIn(mentions)
  const userIds = mentions.filter(isRowId)
  const [users, groups] = await Promise.all([
    userIds.length === 0
      ? []
      : db.selectFrom('users').select(['id', 'userName']).where('id', '=', anyOf(userIds)).execute(),
    groupIds.length === 0
      ? []
      : db.selectFrom('groups').select(['id', 'handle']).where('id', '=', anyOf(groupIds)).execute(),
  ])
  return new Map<string, SlackMention>([
    ['@channel', ['channel', '<!channel>']],
    ['@here', ['here', '<!here>']],
    ...users.map(({ id, userName }) => [id, [userName.toLowerCase(), `<@${id}>`]] as const),
    ...groups.map(
      ({ id, handle }) => [groupMention(id), [handle.toLowerCase(), `<!subteam^${id}|@${handle}>`]] as const,
    ),
  ])
}

/** Those of these channels that a person has joined, or was added to. Served by the primary key of channel_members. */
export async function findJoined(db: Reader, userId: string, channelIds: readonly string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('channelMembers')
    .select('channelId')
    .where('channelId', '=', anyOf([...channelIds]))
    .where('userId', '=', userId)
    .execute()
  return new Set(rows.map(({ channelId }) => channelId))
}

/** Those of these people who are members of a channel. Served by the primary key of channel_members. */
export async function findMembersAmong(
  db: Reader,
  channelId: string,
  userIds: readonly string[],
): Promise<Set<string>> {
  const rows = await db
    .selectFrom('channelMembers')
    .select('userId')
    .where('channelId', '=', channelId)
    .where('userId', '=', anyOf([...userIds]))
    .execute()
  return new Set(rows.map(({ userId }) => userId))
}

/**
 * Names of the people with these ids, of at most 100. For somebody who was removed, and whose name another person or a group has now, it
 * is the id: the name would mention the others.
 */
export async function findUserNames(db: Reader, ids: readonly string[]): Promise<Map<string, string>> {
  const known = ids.filter(isRowId).slice(0, 100)
  if (known.length === 0) return new Map()
  const hasLostName = sql<boolean>`(removed_at is not null and (
    exists (select from users other where other.user_name_key = users.user_name_key and other.removed_at is null)
    or exists (select from groups g where g.handle_key = users.user_name_key and g.deleted_at is null)))`
  const rows = await db
    .selectFrom('users')
    .select(['id', 'userName', hasLostName.as('hasLostName')])
    .where('id', '=', anyOf(known))
    .execute()
  return new Map(rows.map(({ id, userName, hasLostName }) => [id, hasLostName ? id : userName]))
}

/** The names of the people, groups and public channels to which a text refers. */
export async function findNamesIn(db: Reader, mrkdwn: string): Promise<MrkdwnNames> {
  const users = await findUserNames(db, mentionedIds(mrkdwn))
  const channels = await findChannelNames(db, namedChannelIds(mrkdwn))
  const groups = await findHandles(db, mentionedGroupIds(mrkdwn))
  return { user: (id) => users.get(id), channel: (id) => channels.get(id), group: (id) => groups.get(id) }
}

/** Handles of the groups with these ids, of at most 100. */
async function findHandles(db: Reader, ids: readonly string[]): Promise<Map<string, string>> {
  const known = ids.filter(isRowId).slice(0, 100)
  if (known.length === 0) return new Map()
  const groups = db.selectFrom('groups').select(['id', 'handle']).where('id', '=', anyOf(known))
  const rows = await groups.where('deletedAt', 'is', null).execute()
  return new Map(rows.map(({ id, handle }) => [id, handle]))
}

/** Names of the public channels with these ids, of at most 100. */
async function findChannelNames(db: Reader, ids: readonly string[]): Promise<Map<string, string>> {
  const known = ids.filter(isRowId).slice(0, 100)
  if (known.length === 0) return new Map()
  const channels = db.selectFrom('channels').select(['id', 'name']).where('id', '=', anyOf(known))
  const rows = await channels.where('kind', '=', 'public').execute()
  return new Map(rows.map(({ id, name }) => [id, name!]))
}

/** The kinds of these channels by id. Served by the primary key. */
export async function findKinds(db: Reader, ids: readonly string[]): Promise<Map<string, ChannelKind>> {
  const rows = await db
    .selectFrom('channels')
    .select(['id', 'kind'])
    .where('id', '=', anyOf([...ids]))
    .execute()
  return new Map(rows.map(({ id, kind }) => [id, kind]))
}
