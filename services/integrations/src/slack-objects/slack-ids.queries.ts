import { groupIdsIn, groupMention, type Message } from '@parley/contract'
import { anyOf, type ChannelKind, isRowId, type Reader } from '@parley/database'
import { type MrkdwnNames, mentionedIds, namedChannelIds, parseTs, type SlackMentions, slackTs } from '@parley/slack'
import { sql } from 'kysely'

/** A message is found by its id when the time in its id and its `ts` differ by at most this, in milliseconds. */
const idToleranceMs = 10_000
/** The index messages_ts_ahead has the messages whose `ts` is later than their creation by at least this, in microseconds. */
const aheadOfCreation = 8_000_000

export interface FoundMessage {
  id: string
  /** The parent of a reply; null for other messages. */
  threadId: string | null
}

/** The `ts` of a row, in microseconds: the stored one, if there is one. */
const tsOfRow = ({ ts, ...row }: { ts: number | null; createdAt: number; seq: number }) => ts ?? derivedTs(row)

/** The `ts` of a message that was stored by an earlier version, which computed it and did not store it. */
const derivedTs = ({ createdAt, seq }: { createdAt: number; seq: number }) => createdAt * 1_000 + (seq % 1_000)

/**
 * The message or reply in a channel (row id) with this `ts`; undefined when there is none. Does not check rights. Served by the primary
 * key, because ids begin with the time of their creation, and by messages_ts_ahead.
 */
export async function findByTs(db: Reader, channelId: string, text: unknown): Promise<FoundMessage | undefined> {
  const ts = parseTs(text)
  if (ts === undefined || !isRowId(channelId)) return undefined
  const milliseconds = Math.floor(ts / 1_000)
  const near = await db
    .selectFrom('messages')
    .select(['id', 'threadId', 'seq', 'createdAt', 'ts'])
    .where('id', '>=', firstIdOf(milliseconds - idToleranceMs))
    .where('id', '<=', firstIdOf(milliseconds + idToleranceMs))
    .where('channelId', '=', channelId)
    .where('deletedAt', 'is', null)
    .where(({ eb, or, and }) =>
      or([eb('ts', '=', ts), and([eb('ts', 'is', null), eb('createdAt', '=', milliseconds)])]),
    )
    .execute()
  const found = near.find((row) => tsOfRow(row) === ts)
  return found ?? (await findAhead(db, channelId, ts))
}

const findAhead = (db: Reader, channelId: string, ts: number): Promise<FoundMessage | undefined> =>
  db
    .selectFrom('messages')
    .select(['id', 'threadId'])
    .where('channelId', '=', channelId)
    .where('ts', '=', ts)
    .where('deletedAt', 'is', null)
    .where(sql<boolean>`ts >= created_at * 1000 + ${sql.lit(aheadOfCreation)}`)
    .executeTakeFirst()

/** The smallest UUIDv7 of a millisecond. */
function firstIdOf(milliseconds: number): string {
  const hex = Math.max(0, milliseconds).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

type Named = Pick<Message, 'id' | 'threadId' | 'seq' | 'createdAt'>

/** The `ts` of messages and of their parents. */
export interface SlackTimestamps {
  of(message: Named): string
  /** Undefined when the message has no parent, or when the parent was permanently deleted. */
  ofParent(message: Named): string | undefined
}

/** Finds the `ts` of these messages and of their parents. Served by the primary key. */
async function findTimestamps(db: Reader, messages: readonly Named[]): Promise<SlackTimestamps> {
  const ids = messages.flatMap(({ id, threadId }) => (threadId === null ? [id] : [id, threadId]))
  const timestamps = ids.length === 0 ? new Map<string, string>() : await findTsOf(db, [...new Set(ids)])
  return {
    of: (message) => timestamps.get(message.id) ?? slackTs(derivedTs(message)),
    ofParent: ({ threadId }) => (threadId === null ? undefined : timestamps.get(threadId)),
  }
}

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

/**
 * The first message of a channel (row id), or of a thread in it, whose `ts` is this or later. Deleted messages count. Undefined when all
 * messages are earlier. `ts` grows with `seq`, so this is a binary search: about twenty look-ups in messages_of_channel or
 * messages_of_thread.
 */
export async function findFirstMessageFrom(
  db: Reader,
  list: { channelId: string; threadId: string | null },
  ts: number,
): Promise<{ id: string; seq: number } | undefined> {
  const first = (bySeq: 'asc' | 'desc', seq: number) =>
    db
      .selectFrom('messages')
      .select(['id', 'seq', 'createdAt', 'ts'])
      .where(({ eb, and }) =>
        list.threadId === null
          ? and([eb('channelId', '=', list.channelId), eb('threadId', 'is', null)])
          : eb('threadId', '=', list.threadId),
      )
      .where('seq', '>=', seq)
      .orderBy('seq', bySeq)
      .limit(1)
      .executeTakeFirst()

  const newest = await first('desc', 0)
  let found: { id: string; seq: number } | undefined
  let [low, high] = [0, newest?.seq ?? -1]
  while (low <= high) {
    const middle = Math.floor((low + high) / 2)
    const row = (await first('asc', middle))!
    const stamp = tsOfRow(row)
    if (stamp >= ts) {
      found = { id: row.id, seq: row.seq }
      high = middle - 1
    } else low = row.seq + 1
  }
  return found
}

/** Names of the people with these ids, of at most 100. */
export async function findUserNames(db: Reader, ids: readonly string[]): Promise<Map<string, string>> {
  const known = ids.filter(isRowId).slice(0, 100)
  if (known.length === 0) return new Map()
  const rows = await db.selectFrom('users').select(['id', 'userName']).where('id', '=', anyOf(known)).execute()
  return new Map(rows.map(({ id, userName }) => [id, userName]))
}

/** The names of the people and public channels to which a text refers. */
export async function findNamesIn(db: Reader, mrkdwn: string): Promise<MrkdwnNames> {
  const users = await findUserNames(db, mentionedIds(mrkdwn))
  const channels = await findChannelNames(db, namedChannelIds(mrkdwn))
  return { user: (id) => users.get(id), channel: (id) => channels.get(id) }
}

/** Names of the public channels with these ids, of at most 100. */
async function findChannelNames(db: Reader, ids: readonly string[]): Promise<Map<string, string>> {
  const known = ids.filter(isRowId).slice(0, 100)
  if (known.length === 0) return new Map()
  const channels = db.selectFrom('channels').select(['id', 'name']).where('id', '=', anyOf(known))
  const rows = await channels.where('kind', '=', 'public').execute()
  return new Map(rows.map(({ id, name }) => [id, name!]))
}

/** The `ts` of these messages by id, also of deleted ones. Served by the primary key. */
export async function findTsOf(db: Reader, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await selectStamps(db, ids).execute()
  return new Map(rows.map((row) => [row.id, slackTs(tsOfRow(row))]))
}

/**
 * The `ts`, the author and the parent of a message, also of a deleted one. The author is null when it is a webhook. Served by the primary
 * key.
 */
export async function findTsAndAuthor(db: Reader, id: string) {
  const row = await selectStamps(db, [id]).select(['authorId', 'threadId']).executeTakeFirst()
  return row && { ts: slackTs(tsOfRow(row)), authorId: row.authorId, threadId: row.threadId }
}

const selectStamps = (db: Reader, ids: readonly string[]) =>
  db
    .selectFrom('messages')
    .select(['id', 'seq', 'createdAt', 'ts'])
    .where('id', '=', anyOf([...ids]))

/** The kinds of these channels by id. Served by the primary key. */
export async function findKinds(db: Reader, ids: readonly string[]): Promise<Map<string, ChannelKind>> {
  const rows = await db
    .selectFrom('channels')
    .select(['id', 'kind'])
    .where('id', '=', anyOf([...ids]))
    .execute()
  return new Map(rows.map(({ id, kind }) => [id, kind]))
}
