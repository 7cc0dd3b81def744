import { anyOf, type SearchProgress, type Transaction } from '@parley/database'
import type { RotationHook } from '@parley/events'
import { foldMessage, selectSearchable } from '@parley/search'
import { type Selectable, sql } from 'kysely'
import { divide } from './segments.ts'

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

  for (const portion of portionsOf(rows)) await storeCopies(trx, portion)
  for (const { segment, ...values } of segments.changed()) {
    await trx
      .insertInto('searchSegments')
      .values({ segment, ...values })
      .onConflict((conflict) => conflict.column('segment').doUpdateSet(values))
      .execute()
  }
}

interface Copy {
  message: { id: string; channelId: string; authorId: string | null; createdAt: number }
  segment: number
  folded: string
}

/** About as many characters are indexed by one statement, because it ends after 30 s. */
const portionChars = 125_000

function portionsOf(copies: readonly Copy[]): Copy[][] {
  const portions: Copy[][] = []
  let chars = Number.POSITIVE_INFINITY
  for (const copy of copies) {
    if (chars >= portionChars) {
      portions.push([])
      chars = 0
    }
    portions.at(-1)!.push(copy)
    chars += copy.folded.length
  }
  return portions
}

async function storeCopies(trx: Transaction, rows: readonly Copy[]): Promise<void> {
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
}
