import type { EventType } from '@parley/contract'
import { anyOf, isRowId, type Reader, type StoredAttachment } from '@parley/database'
import { sql } from 'kysely'
import { foldParts } from './search-text.ts'

/** The events that change the results of searches, with the path of the message's id in each. */
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

/** The id ends within this many characters of an event when it is the first field of the payload. */
const beginningLength = 120

const pathOfType = sql`case split_part(o.event, '"', 4) ${sql.join(
  Object.entries(changes).map(([type, path]) => sql`when ${sql.lit(type)} then ${sql.lit(path)}::text[]`),
  sql` `,
)} end`

/**
 * The id of the message that the event of the outbox row `o` changed; null for other events. An event begins with its
 * type, and most payloads with their id, so both are found without parsing the rest of the JSON.
 */
const changedMessage = sql`case
  when ${pathOfType} is null then null
  when ${pathOfType} = '{payload,id}' and split_part(left(o.event, ${sql.lit(beginningLength)}), '"', 8) = 'id'
    then split_part(left(o.event, ${sql.lit(beginningLength)}), '"', 10)
  else o.event::json #>> ${pathOfType} end`

/** Whether the event also deletes the replies of the message. */
const deletesReplies = sql`coalesce(o.event like '{"type":"DELETE_MESSAGE"%', false)`

interface MessageChanges {
  /** The last position that was read. */
  pos: number
  /** How many events were read, of any kind. */
  count: number
  /** When the last of them was recorded; null without any. */
  recordedAt: number | null
  /** Messages that were sent, changed or deleted, without duplicates. */
  messageIds: string[]
}

/**
 * The messages that the events after a position changed. Reads whole batches until it has `limit` events. Returns
 * 'gone' when the next event was removed from the outbox. Each row is looked up separately, see `readBatches` in
 * libs/events.
 */
export async function readChanges(db: Reader, after: number, limit: number): Promise<MessageChanges | 'gone'> {
  const { rows } = await sql<BatchRow>`
    select chosen.last_pos, cardinality(chosen.outbox_ids) as count, found.*
    from (
      select last_pos, outbox_ids from event_positions
      where last_pos > ${after} and last_pos <= coalesce((
        select last_pos from event_positions where last_pos >= ${after}::bigint + ${limit} order by last_pos limit 1
      ), 9223372036854775807)
      order by last_pos offset 0
    ) chosen cross join lateral (
      select count(*)::int as kept, array_agg(${changedMessage}) as ids,
        array_agg(${changedMessage}) filter (where ${deletesReplies}) as deleted, max(o.created_at) as recorded_at
      from unnest(chosen.outbox_ids) u (id)
        cross join lateral (select * from outbox where outbox.id = u.id limit 1) o
    ) found
    order by chosen.last_pos`.execute(db)

  let pos = after
  let recordedAt: number | null = null
  for (const batch of rows) {
    if (batch.lastPos - batch.count !== pos || batch.kept < batch.count) return 'gone'
    pos = batch.lastPos
    recordedAt = batch.recordedAt
  }
  return { pos, count: pos - after, recordedAt, messageIds: await withReplies(db, rows) }
}

export interface Unindexed {
  /**
   * Messages that were sent, changed or deleted by events that the projection has not read yet, also by events without
   * a position.
   */
  unseenIds: string[]
  /** The changed and deleted ones among them. The projection may have old copies of these. */
  changedIds: string[]
  /** The projection has not read the messages with smaller ids yet. Null when it has read all. */
  unreadBelow: string | null
}

/** Selects the messages that are not in the search projection yet, for `readUnindexed`. */
export const selectUnindexed = sql<UnindexedRow>`
  select progress.unread_below, unseen.* from search_progress progress cross join lateral (
    select string_agg(id, ',') filter (where is_sent) as sent, array_agg(id) filter (where not is_sent) as ids,
      array_agg(id) filter (where takes_replies) as deleted
    from (
      select ${changedMessage} as id, o.event like '{"type":"NEW_%' as is_sent, ${deletesReplies} as takes_replies
      from outbox o where o.id > progress.seen_id offset 0
    ) changed where id is not null
  ) unseen`

/** Reads what `selectUnindexed` has selected, and adds the replies to deleted messages. Served by messages_of_thread. */
export async function readUnindexed(db: Reader, row: UnindexedRow): Promise<Unindexed> {
  const changedIds = await withReplies(db, [row])
  const sent = row.sent?.split(',').filter(isRowId) ?? []
  return { unseenIds: [...new Set([...sent, ...changedIds])], changedIds, unreadBelow: row.unreadBelow }
}

export interface UnindexedRow extends Changed {
  /** Ids separated by commas. There may be hundreds of thousands, and the driver is slow at reading arrays. */
  sent: string | null
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

/** The messages without duplicates, with the replies to deleted ones. Served by messages_of_thread. */
async function withReplies(db: Reader, rows: readonly Changed[]): Promise<string[]> {
  const known = (ids: Changed['ids']) => (ids ?? []).filter((id): id is string => id !== null && isRowId(id))
  const changed = rows.flatMap(({ ids }) => known(ids))
  const deleted = rows.flatMap(({ deleted }) => known(deleted))
  const replies =
    deleted.length === 0
      ? []
      : await db.selectFrom('messages').select('id').where('threadId', '=', anyOf(deleted)).execute()
  return [...new Set([...changed, ...replies.map(({ id }) => id)])]
}

/** The next messages with smaller ids, in descending order, including deleted ones. Served by the primary key. */
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

/** Messages and channels that are not deleted, with all the texts that search compares (see `foldMessage`). */
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
      sql<string | null>`messages.shown_as ->> 'userName'`.as('shownName'),
    ])

interface Searchable {
  content: string
  attachments: StoredAttachment[] | null
  webhookName: string | null
  /** The author's name that a webhook has chosen for this message. */
  shownName: string | null
}

/**
 * The texts of a message that search compares. The name of a user is not one of them, because users can change their
 * names. Webhooks cannot.
 */
export const foldMessage = ({ content, attachments, webhookName, shownName }: Searchable): string =>
  foldParts([
    content,
    ...(attachments ?? []).map(({ originalName }) => originalName),
    ...[webhookName, shownName].filter((name) => name !== null),
  ])
