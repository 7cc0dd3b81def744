import { invalid, limits, type Message } from '@parley/contract'
import { isRowId, prepared, type Reader } from '@parley/database'
import { selectMessages } from '@parley/messages'
import { sql } from 'kysely'
import type { PageQuery } from '../messages.schema.ts'

/** A list that has pages: the messages of a channel or conversation, or the replies to a message. */
export interface MessageList {
  channelId: string
  /** The parent of the replies. */
  threadId?: string
}

interface MessagePage {
  /** Oldest first. */
  messages: Message[]
  hasOlder: boolean
  hasNewer: boolean
}

/**
 * The page of a list that the query asks for: the messages before, after or around one message, or the newest. Deleted
 * messages are left out, but a page may begin at a deleted one.
 * @throws ApiError 400 when the query has two cursors, or names a message that is not in the list.
 */
export async function readPage(db: Reader, list: MessageList, query: PageQuery): Promise<MessagePage> {
  const limit = Math.min(query.limit, limits.pageSize)
  const start = await findStart(db, list, query)
  switch (start.at) {
    case 'before': {
      const older = await listOlder(db, list, start.seq, limit)
      return { ...older, hasNewer: start.seq !== endOfList && (await hasMessages(db, list, 'from', start.seq)) }
    }
    case 'after': {
      const newer = await listNewer(db, list, start.seq + 1, limit)
      return { ...newer, hasOlder: await hasMessages(db, list, 'below', start.seq + 1) }
    }
    case 'around':
      return readAround(db, list, start.seq, limit)
  }
}

/**
 * The page around a message. The message itself is the first of the newer half. When one side has too few messages, the
 * page has more of the other side.
 */
async function readAround(db: Reader, list: MessageList, seq: number, limit: number): Promise<MessagePage> {
  const [older, newer] = await Promise.all([listOlder(db, list, seq, limit), listNewer(db, list, seq, limit)])
  const newerWanted = Math.max(Math.ceil(limit / 2), limit - older.messages.length)
  const newerPart = newer.messages.slice(0, newerWanted)
  const olderPart = older.messages.slice(Math.max(0, older.messages.length - (limit - newerPart.length)))
  return {
    messages: [...olderPart, ...newerPart],
    hasOlder: older.hasOlder || olderPart.length < older.messages.length,
    hasNewer: newer.hasNewer || newerPart.length < newer.messages.length,
  }
}

interface PageStart {
  at: 'before' | 'after' | 'around'
  seq: number
}

const endOfList = Number.MAX_SAFE_INTEGER

async function findStart(db: Reader, list: MessageList, query: PageQuery): Promise<PageStart> {
  const { before, after, around, aroundSeq } = query
  const given = Object.entries({ before, after, around, aroundSeq }).filter(([, value]) => value !== undefined)
  if (given.length > 1) {
    throw invalid(`Give only one of ${given.map(([name]) => name).join(' and ')}`, 'invalid_cursor')
  }
  if (before !== undefined) return { at: 'before', seq: await findCursor(db, list, before, 'before') }
  if (after !== undefined) return { at: 'after', seq: await findCursor(db, list, after, 'after') }
  if (around !== undefined) return { at: 'around', seq: await findCursor(db, list, around, 'around') }
  if (aroundSeq !== undefined) return { at: 'around', seq: aroundSeq }
  return { at: 'before', seq: endOfList }
}

/**
 * The seq of a message in the list. A deleted message keeps its seq.
 * @throws ApiError 400 when the message is not in the list.
 */
export async function findCursor(
  db: Reader,
  { channelId, threadId }: MessageList,
  messageId: string,
  parameter: 'before' | 'after' | 'around',
): Promise<number> {
  const message = isRowId(messageId)
    ? await db
        .selectFrom('messages')
        .select('seq')
        .where('id', '=', messageId)
        .where('channelId', '=', channelId)
        .where('threadId', 'is not distinct from', threadId ?? null)
        .executeTakeFirst()
    : undefined
  if (!message) throw invalid(`The message given as ${parameter} is not in this list`, 'invalid_cursor')
  return message.seq
}

/** The newest `limit` messages below `seq`, in ascending order. Served by messages_of_channel or messages_of_thread. */
export async function listOlder(db: Reader, list: MessageList, seq: number, limit: number) {
  const messages = await (list.threadId === undefined ? olderOfChannel : olderOfThread)(db, rangeOf(list, seq, limit))
  const hasOlder = messages.length > limit
  return { messages: messages.slice(0, limit).reverse(), hasOlder }
}

/** The oldest `limit` messages from `seq` on, in ascending order. Served by the same indexes. */
async function listNewer(db: Reader, list: MessageList, seq: number, limit: number) {
  const messages = await (list.threadId === undefined ? newerOfChannel : newerOfThread)(db, rangeOf(list, seq, limit))
  const hasNewer = messages.length > limit
  return { messages: messages.slice(0, limit), hasNewer }
}

interface Range {
  /** The id of the channel or conversation, or of the parent. */
  id: string
  seq: number
  /** One more than the size of the page. The additional message shows that there is a further page. */
  count: number
}

const rangeOf = ({ channelId, threadId }: MessageList, seq: number, limit: number): Range => ({
  id: threadId ?? channelId,
  seq,
  count: limit + 1,
})

const olderOfChannel = prepared((db, range: Range) => selectRange(inChannel(db, range), range, 'older'))
const newerOfChannel = prepared((db, range: Range) => selectRange(inChannel(db, range), range, 'newer'))
const olderOfThread = prepared((db, range: Range) => selectRange(inThread(db, range), range, 'older'))
const newerOfThread = prepared((db, range: Range) => selectRange(inThread(db, range), range, 'newer'))

const inChannel = (db: Reader, { id }: Range) => ({
  db,
  messages: selectMessages(db).where('messages.channelId', '=', id).where('messages.threadId', 'is', null),
})
const inThread = (db: Reader, { id }: Range) => ({
  db,
  messages: selectMessages(db).where('messages.threadId', '=', id),
})

/**
 * The literal limit tells PostgreSQL that a page is small for every value of the parameter. Without it PostgreSQL
 * considers the generic plan expensive, and plans every page again.
 */
function selectRange(
  { db, messages }: ReturnType<typeof inChannel>,
  { seq, count }: Range,
  direction: 'older' | 'newer',
) {
  const [comparison, order] = direction === 'older' ? (['<', 'desc'] as const) : (['>=', 'asc'] as const)
  const largest = messages
    .where('messages.seq', comparison, seq)
    .orderBy('messages.seq', order)
    .limit(sql.lit(limits.pageSize + 1))
  return db.selectFrom(largest.as('page')).selectAll().orderBy('page.seq', order).limit(count)
}

/** Whether the list has messages from `seq` on, or below it. */
async function hasMessages(db: Reader, list: MessageList, side: 'from' | 'below', seq: number): Promise<boolean> {
  const found = await (side === 'from' ? listNewer : listOlder)(db, list, seq, 1)
  return found.messages.length > 0
}
