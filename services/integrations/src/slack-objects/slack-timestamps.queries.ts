import type { Message } from '@parley/contract'
import { anyOf, firstIdOf, isRowId, type Reader } from '@parley/database'
import { parseTs, slackTs } from '@parley/slack'
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
export const tsOfRow = ({ ts, ...row }: { ts: number | null; createdAt: number; seq: number }) => ts ?? derivedTs(row)

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

export type Named = Pick<Message, 'id' | 'threadId' | 'seq' | 'createdAt'>

/** The `ts` of messages and of their parents. */
export interface SlackTimestamps {
  of(message: Named): string
  /** Undefined when the message has no parent, or when the parent was permanently deleted. */
  ofParent(message: Named): string | undefined
}

/** Finds the `ts` of these messages and of their parents. Served by the primary key. */
export async function findTimestamps(db: Reader, messages: readonly Named[]): Promise<SlackTimestamps> {
  const ids = messages.flatMap(({ id, threadId }) => (threadId === null ? [id] : [id, threadId]))
  const timestamps = ids.length === 0 ? new Map<string, string>() : await findTsOf(db, [...new Set(ids)])
  return {
    of: (message) => timestamps.get(message.id) ?? slackTs(derivedTs(message)),
    ofParent: ({ threadId }) => (threadId === null ? undefined : timestamps.get(threadId)),
  }
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
