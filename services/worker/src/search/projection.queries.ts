import { anyOf, type SearchProgress, type Transaction } from '@parley/database'
import type { RotationHook } from '@parley/events'
import { foldMessage, selectSearchable } from '@parley/search'
import { type Selectable, sql } from 'kysely'

/** Above every id. */
export const endOfIds = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Locks and returns the progress; undefined while another worker has it locked. */
export const lockProgress = (trx: Transaction): Promise<Selectable<SearchProgress> | undefined> =>
  trx.selectFrom('searchProgress').selectAll().forUpdate().skipLocked().executeTakeFirst()

export const updateProgress = (trx: Transaction, progress: Partial<Selectable<SearchProgress>>) =>
  trx.updateTable('searchProgress').set(progress).execute()

/**
 * For the relay, before it empties a generation of the outbox: if the projection has not read all of it, the projection
 * reads all messages again.
 */
export const rereadLostMessages: RotationHook = async (client, table) => {
  await client.query(
    `update search_progress set unread_below = $1 where exists (select from ${table} where id > seen_id offset 0)`,
    [endOfIds],
  )
}

/** The progress of the relay: every outbox id up to `lowId` has a position up to `pos`, or will never exist. */
export const findRelayed = (trx: Transaction) =>
  trx.selectFrom('relayLease').select(['pos', 'lowId']).executeTakeFirstOrThrow()

/** Updates the copies of these messages: stores those of live messages and deletes the others. */
export async function project(trx: Transaction, messageIds: readonly string[], segmentSize: number): Promise<void> {
  if (messageIds.length === 0) return
  const live = await selectSearchable(trx).where('messages.id', '=', anyOf(messageIds)).orderBy('createdAt').execute()
  const ids = new Set(live.map(({ id }) => id))
  const gone = messageIds.filter((id) => !ids.has(id))
  if (gone.length > 0) await trx.deleteFrom('messageSearch').where('messageId', '=', anyOf(gone)).execute()

  const kept = await trx
    .selectFrom('messageSearch')
    .select(['messageId', 'segment'])
    .where('messageId', '=', anyOf([...ids]))
    .execute()
  const segmentOf = new Map(kept.map(({ messageId, segment }) => [messageId, segment]))
  const segments = divide(await trx.selectFrom('searchSegments').selectAll().execute(), segmentSize)
  const rows = live.map((message) => ({
    message,
    segment: segmentOf.get(message.id) ?? segments.place(message.createdAt),
    folded: foldMessage(message),
  }))

  await sql`
    insert into message_search (message_id, channel_id, author_id, created_at, segment, folded)
    select * from unnest(
      ${rows.map(({ message }) => message.id)}::uuid[], ${rows.map(({ message }) => message.channelId)}::uuid[],
      ${rows.map(({ message }) => message.authorId)}::uuid[], ${rows.map(({ message }) => message.createdAt)}::bigint[],
      ${rows.map(({ segment }) => segment)}::int[], ${rows.map(({ folded }) => folded)}::text[])
    on conflict (message_id) do update set folded = excluded.folded where message_search.folded <> excluded.folded`.execute(
    trx,
  )
  await sql`select merge_search_grams()`.execute(trx)
  for (const { segment, ...values } of segments.changed()) {
    await trx
      .insertInto('searchSegments')
      .values({ segment, ...values })
      .onConflict((conflict) => conflict.column('segment').doUpdateSet(values))
      .execute()
  }
}

export interface Segment {
  segment: number
  /** Its messages were written at this moment or later, and before `fromAt` of the next segment. */
  fromAt: number
  firstAt: number | null
  lastAt: number | null
  size: number
}

interface Segments {
  /** The segment of one more message, written at this moment. */
  place(createdAt: number): number
  /** The new and the changed segments, in their present state. */
  changed(): Segment[]
}

/**
 * Divides time into segments of about `fullSize` messages. When a segment is full and the next message is newer than
 * all its messages, or older than all of them (while history is read backwards), a new segment begins there. A late
 * message between them is added to the full segment.
 */
export function divide(known: readonly Segment[], fullSize: number): Segments {
  const segments = known.map((each) => ({ ...each })).sort((a, b) => a.fromAt - b.fromAt)
  const changed = new Set<Segment>()
  let highest = Math.max(...segments.map(({ segment }) => segment))

  const open = (fromAt: number): Segment => ({ segment: ++highest, fromAt, firstAt: null, lastAt: null, size: 0 })

  function find(createdAt: number): Segment {
    let place = segments.length - 1
    while (place > 0 && segments[place]!.fromAt > createdAt) place--
    const found = segments[place]!
    const { firstAt, lastAt, fromAt, size } = found
    if (size < fullSize || firstAt === null || lastAt === null) return found
    if (createdAt > lastAt) {
      segments.splice(place + 1, 0, open(lastAt + 1))
      return segments[place + 1]!
    }
    if (createdAt < firstAt) {
      found.fromAt = firstAt
      changed.add(found)
      segments.splice(place, 0, open(fromAt))
      return segments[place]!
    }
    return found
  }

  return {
    place(createdAt) {
      const found = find(createdAt)
      found.firstAt = Math.min(found.firstAt ?? createdAt, createdAt)
      found.lastAt = Math.max(found.lastAt ?? createdAt, createdAt)
      found.size++
      changed.add(found)
      return found.segment
    },
    changed: () => [...changed],
  }
}
