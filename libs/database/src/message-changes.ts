import type { EventType } from '@parley/contract'
import { sql } from 'kysely'
import { anyOf } from './any-of.ts'
import type { Reader } from './connect.ts'
import { foldParts } from './search-text.ts'
import type { StoredAttachment } from './tables.ts'
import { isRowId } from './uuidv7.ts'

/** Where each event that changes what search finds has the id of the message it is about. */
const changes: Partial<Record<EventType, string>> = {
  NEW_MESSAGE: '{payload,id}',
  UPDATE_MESSAGE: '{payload,id}',
  DELETE_MESSAGE: '{payload,id}',
  NEW_DM_MESSAGE: '{payload,id}',
  UPDATE_DM_MESSAGE: '{payload,id}',
  DELETE_DM_MESSAGE: '{payload,id}',
  NEW_THREAD_REPLY: '{payload,reply,id}',
  UPDATE_THREAD_REPLY: '{payload,id}',
  DELETE_THREAD_REPLY: '{payload,id}',
}

const pathOfType = sql`case split_part(o.event, '"', 4) ${sql.join(
  Object.entries(changes).map(([type, path]) => sql`when ${sql.lit(type)} then ${sql.lit(path)}::text[]`),
  sql` `,
)} end`

/**
 * Of the outbox row `o`: the message that its event says has changed, null for any other event. An event begins with its type, which
 * is found without reading the rest.
 */
const changedMessage = sql`(o.event::json #>> ${pathOfType})`

/** The replies to a message go with it, by one event. */
const withReplies = sql`coalesce(o.event like '{"type":"DELETE_MESSAGE"%', false)`

export interface MessageChanges {
  /** The last position that was read. */
  pos: number
  /** How many events that was, of any kind. */
  count: number
  /** When the last of them was recorded; null without any. */
  recordedAt: number | null
  /** Messages that were sent, changed or deleted, each once. */
  messageIds: string[]
}

/**
 * What the events after a position have changed, whole batches of them until `limit` events are reached. 'gone' when the next
 * one is no longer kept.
 */
export async function readChanges(db: Reader, after: number, limit: number): Promise<MessageChanges | 'gone'> {
  const { rows } = await sql<BatchRow>`
    with near as (
      select last_pos, outbox_ids, created_at, cardinality(outbox_ids) as n
      from event_positions where last_pos > ${after} order by last_pos limit ${limit}
    ), chosen as materialized (
      select * from (select *, sum(n) over (order by last_pos) - n as before from near) counted where before < ${limit}
    )
    select chosen.last_pos, chosen.n as count, found.*
    from chosen cross join lateral (
      select count(*)::int as kept, array_agg(${changedMessage}) as ids,
        array_agg(${changedMessage}) filter (where ${withReplies}) as deleted, max(o.created_at) as recorded_at
      from unnest(chosen.outbox_ids) u (id) join outbox o on o.id = u.id
    ) found
    order by chosen.last_pos`.execute(db)

  let pos = after
  let recordedAt: number | null = null
  for (const batch of rows) {
    if (batch.lastPos - batch.count !== pos || batch.kept < batch.count) return 'gone'
    pos = batch.lastPos
    recordedAt = batch.recordedAt
  }
  return { pos, count: pos - after, recordedAt, messageIds: await unfold(db, rows) }
}

export interface Unprojected {
  /** Messages that events have changed of which the projection does not know; committed ones, with a position or without. */
  unseenIds: string[]
  /** All messages with a smaller id were never read by it; null when there is nothing left to read. */
  unreadBelow: string | null
}

/** Selects what the projection that search reads does not have yet, for `readUnprojected`. */
export const selectUnprojected = sql<UnprojectedRow>`
  select progress.unread_below, unseen.ids, unseen.deleted from search_progress progress cross join lateral (
    select array_agg(${changedMessage}) as ids, array_agg(${changedMessage}) filter (where ${withReplies}) as deleted
    from outbox o where o.id > progress.seen_id
  ) unseen`

export const readUnprojected = async (db: Reader, row: UnprojectedRow): Promise<Unprojected> => ({
  unseenIds: await unfold(db, [row]),
  unreadBelow: row.unreadBelow,
})

export interface UnprojectedRow extends Changed {
  unreadBelow: string | null
}

interface Changed {
  ids: (string | null)[] | null
  deleted: (string | null)[] | null
}

interface BatchRow extends Changed {
  lastPos: number
  count: number
  kept: number
  recordedAt: number
}

/** All of them once, with the replies to those that were deleted. Served by messages_of_thread. */
async function unfold(db: Reader, rows: readonly Changed[]): Promise<string[]> {
  const known = (ids: (string | null)[] | null) => ids?.filter((id) => id !== null && isRowId(id)) as string[]
  const changed = rows.flatMap(({ ids }) => known(ids) ?? [])
  const deleted = rows.flatMap(({ deleted }) => known(deleted) ?? [])
  const replies =
    deleted.length === 0
      ? []
      : await db.selectFrom('messages').select('id').where('threadId', '=', anyOf(deleted)).execute()
  return [...new Set([...changed, ...replies.map(({ id }) => id)])]
}

/** The next messages downwards from an id, deleted ones too, by the primary key. */
export async function listMessageIdsBelow(db: Reader, id: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('messages')
    .select('id')
    .where('id', '<', id)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** Live messages of live channels with all that search compares; see `foldedText`. */
export const selectSearchable = (db: Reader) =>
  db
    .selectFrom('messages')
    .innerJoin('channels', 'channels.id', 'messages.channelId')
    .where('messages.deletedAt', 'is', null)
    .where('channels.deletedAt', 'is', null)
    .select([
      'messages.id',
      'messages.channelId',
      sql<string | null>`coalesce(messages.author_id, messages.webhook_id)`.as('authorId'),
      'messages.createdAt',
      'messages.content',
      'messages.attachments',
      sql<string | null>`(select webhooks.name from webhooks where webhooks.id = messages.webhook_id)`.as(
        'webhookName',
      ),
    ])

export interface Searchable {
  content: string
  attachments: StoredAttachment[] | null
  webhookName: string | null
}

/** What search compares of a message. The name of its author is not in it: people change names, webhooks do not. */
export const foldedText = ({ content, attachments, webhookName }: Searchable): string =>
  foldParts([
    content,
    ...(attachments ?? []).map(({ originalName }) => originalName),
    ...(webhookName === null ? [] : [webhookName]),
  ])
