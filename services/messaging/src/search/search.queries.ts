import { canReadById } from '@parley/access'
import { nameKey } from '@parley/accounts'
import { executePrepared, prepared, type Reader } from '@parley/database'
import type { Caller } from '@parley/identity'
import {
  foldedFurther,
  foldMessage,
  foldText,
  listMessageIdsBelow,
  readUnindexed,
  searchGrams,
  selectSearchable,
  selectUnindexed,
  type Unindexed,
  type UnindexedRow,
} from '@parley/search'
import { type RawBuilder, sql } from 'kysely'

/** The position where a search continues. Messages are ordered newest first, and by id within one millisecond. */
export interface Cursor {
  createdAt: number
  id: string
}

/** The conditions of a search. Ids are row ids. */
export interface Wanted {
  /** The text as the caller wrote it, trimmed. */
  text: string
  folded: string
  /** The channel or conversation; undefined for all that the caller may read. */
  channelId: string | undefined
  /** The author: a person or a webhook; undefined for all. */
  authorId: string | undefined
  from: number
  to: number
  before: Cursor | undefined
  limit: number
}

/** A message that was found. */
export interface Hit {
  id: string
  createdAt: number
}

/** The input of every search of the projection. Messages that the projection does not have yet are matched by their own text. */
export interface Search extends Beginning {
  caller: Caller
  wanted: Wanted
}

/** What `beginSearch` has read. */
export interface Beginning extends Unindexed {
  /** People, removed ones too, whose name contains the wanted text. */
  authorIds: string[]
}

/**
 * Every search begins with this statement. It finds the messages that the projection lacks, and the people whose name
 * contains the text.
 */
export async function beginSearch(snapshot: Reader, text: string): Promise<Beginning> {
  const folded = foldText(nameKey(text))
  const grams = folded === '' ? [] : searchGrams(folded)
  const [row] = await selectBeginning(snapshot, { grams, further: folded === '' ? [] : foldedFurther })
  const authors = row!.named.filter(({ key }) => foldText(key).includes(folded))
  return { ...(await readUnindexed(snapshot, row!)), authorIds: authors.map(({ id }) => id) }
}

/**
 * Texts are folded more than the keys of names, so keys with a character of `foldedFurther` are candidates too. Served
 * by users_name_grams.
 */
const selectBeginning = prepared(
  (_db, { grams, further }: { grams: string[]; further: string[] }) => sql<
    UnindexedRow & { named: { id: string; key: string }[] }
  >`
    select unindexed.*, (
      select coalesce(json_agg(json_build_object('id', id, 'key', user_name_key)), '[]') from users
      where search_grams(0, user_name_key) @> search_keys(0, ${grams}::text[])
        or search_grams(0, user_name_key) && search_keys(0, ${further}::text[])
    ) as named from (${selectUnindexed}) unindexed`,
)

export interface Newest {
  hits: Hit[]
  /** Whether there are no further messages. */
  exhausted: boolean
}

/**
 * Scans the `most` newest messages one by one, which is the fastest way to find frequent texts. Served by
 * message_search_newest, message_search_of_channel or message_search_of_author. The number is part of the statement's
 * text, so that the planner knows it.
 */
export async function searchNewest(snapshot: Reader, search: Search, most: number): Promise<Newest> {
  const { channelId, authorId, folded, limit } = search.wanted
  const query = sql<{ seen: number; hits: Hit[] }>`
    with near as materialized (
      select message_id, channel_id, author_id, created_at, folded from message_search d
      where ${inTime(search.wanted, sql`d.created_at`)}
        ${channelId === undefined ? sql`` : sql`and d.channel_id = ${channelId}`}
        ${authorId === undefined ? sql`` : sql`and d.author_id = ${authorId}`}
      order by d.created_at desc, d.message_id desc limit ${sql.lit(most)}
    ), found as (
      select message_id as id, created_at from near d
      where (strpos(d.folded, ${folded}) > 0 or d.author_id = any(${search.authorIds}::uuid[])) and ${readableCopy(search)}
      order by created_at desc, message_id desc limit ${limit}
    )
    select (select count(*)::int from near) as seen,
      (select coalesce(json_agg(json_build_object('id', id, 'createdAt', created_at)), '[]') from found) as hits`
  const [row] = await executePrepared(snapshot, query.compile(snapshot))
  const { seen, hits } = row!
  return { hits, exhausted: seen < most }
}

/**
 * The newest messages that contain the text, segment after segment, until there are enough. In each segment the index
 * finds the messages that have all grams, and then their text is compared. `+ 0` hides a column from the other indexes.
 */
export async function searchByText(snapshot: Reader, search: Search): Promise<Hit[]> {
  const { folded, from, to, limit, before } = search.wanted
  const newest = Math.min(to, before?.createdAt ?? to)
  const query = sql<Hit>`
    with wanted_segments as materialized (
      select array(select segment::bigint << 40 | gram from unnest(grams) gram) as keys, from_at
      from (select search_keys(0, ${searchGrams(folded)}::text[]) as grams) search,
        (select segment, from_at, lead(from_at) over (order by from_at) as until from search_segments) segments
      where from_at <= ${newest} and coalesce(until > ${from}, true)
    )
    select found.id, found.created_at from (select keys from wanted_segments order by from_at desc) wanted cross join lateral (
      select d.message_id as id, d.created_at from message_search d
      where search_grams(d.segment, d.folded) @> wanted.keys and strpos(d.folded, ${folded}) > 0
        and ${inScope(search.wanted)} and ${inTime(search.wanted, sql`(d.created_at + 0)`)} and ${readableCopy(search)}
      order by d.created_at + 0 desc, d.message_id desc limit ${limit}
    ) found
    limit ${limit}`
  return executePrepared(snapshot, query.compile(snapshot))
}

/**
 * The newest messages of these authors, who may be thousands. The query first reads only the newest message of each
 * author. The authors of the newest of these messages wrote all messages of the result. Served by
 * message_search_of_author, once per author.
 */
export async function searchByAuthors(snapshot: Reader, search: Search): Promise<Hit[]> {
  const { authorId, limit } = search.wanted
  const authorIds = search.authorIds.filter((id) => authorId === undefined || id === authorId)
  if (authorIds.length === 0) return []
  const newest = (most: number) => sql`
    select d.message_id as id, d.created_at from message_search d
    where d.author_id = author.id and ${inScope({ ...search.wanted, authorId: undefined })}
      and ${inTime(search.wanted, sql`d.created_at`)} and ${readableCopy(search)}
    order by d.created_at desc, d.message_id desc limit ${most}`
  const query = sql<Hit>`
    with near as materialized (
      select author.id from unnest(${authorIds}::uuid[]) author (id) cross join lateral (${newest(1)}) found
      order by found.created_at desc, found.id desc limit ${limit}
    )
    select found.id, found.created_at from near author cross join lateral (${newest(limit)}) found
    order by found.created_at desc, found.id desc limit ${limit}`
  return executePrepared(snapshot, query.compile(snapshot))
}

const inTime = ({ from, to, before }: Wanted, createdAt: RawBuilder<unknown>) => sql`(
  ${createdAt} between ${from} and ${to}
  ${before === undefined ? sql`` : sql`and (${createdAt}, d.message_id) < (${before.createdAt}, ${before.id}::uuid)`})`

/** This condition is written so that no index serves it, because the search uses another index. */
const inScope = ({ channelId, authorId }: Pick<Wanted, 'channelId' | 'authorId'>) => sql`(true
  ${channelId === undefined ? sql`` : sql`and d.channel_id is not distinct from ${channelId}::uuid`}
  ${authorId === undefined ? sql`` : sql`and d.author_id is not distinct from ${authorId}::uuid`})`

/**
 * Whether the copy is up to date and the caller may read it. PostgreSQL makes a hash table of ids in a subquery, but reads an array
 * from its beginning for each row.
 */
const readableCopy = ({ caller, changedIds, unreadBelow }: Search) => sql`(
  d.message_id not in (select unnest(${changedIds}::uuid[])) ${unreadBelow === null ? sql`` : sql`and d.message_id >= ${unreadBelow}::uuid`}
  and ${canReadById('d.channel_id', caller)})`

/** Those of the given messages that match by their current text. */
export async function searchByIds(snapshot: Reader, search: Search, ids: readonly string[]): Promise<Hit[]> {
  if (ids.length === 0) return []
  // The ids are one text, because the driver needs longer to write a list of so many ids than PostgreSQL needs to read
  // it.
  const wanted = sql<string>`any(string_to_array(${ids.join(',')}, ',')::uuid[])`
  const messages = await selectWanted(snapshot, search).where('messages.id', '=', wanted).execute()
  return keepMatching(messages, search)
}

interface Portion {
  hits: Hit[]
  /** The id at which the next portion begins; null after the last portion. */
  below: string | null
}

/** The matching messages of the next portion below an id. Served by the primary key. */
export async function searchBelow(snapshot: Reader, search: Search, below: string, most: number): Promise<Portion> {
  const ids = await listMessageIdsBelow(snapshot, below, most)
  const hits = await searchByIds(snapshot, search, ids)
  return { hits, below: ids.length < most ? null : ids.at(-1)! }
}

function selectWanted(snapshot: Reader, search: Search) {
  const { caller, wanted } = search
  const { channelId, authorId, from, to, before } = wanted
  return selectSearchable(snapshot)
    .where('messages.createdAt', '>=', from)
    .where('messages.createdAt', '<=', to)
    .where(mayMatch(search))
    .where(canReadById('messages.channelId', caller))
    .$if(channelId !== undefined, (query) => query.where('messages.channelId', '=', channelId!))
    .$if(authorId !== undefined, (query) =>
      query.where(({ eb, or }) =>
        or([eb('messages.authorId', '=', authorId!), eb('messages.webhookId', '=', authorId!)]),
      ),
    )
    .$if(before !== undefined, (query) =>
      query.where(
        sql<boolean>`(messages.created_at, messages.id) < (${before!.createdAt}::bigint, ${before!.id}::uuid)`,
      ),
    )
}

/**
 * Leaves out messages that cannot match, so that few of hundreds of thousands are fetched and folded. For a text of
 * ASCII characters, folding is the same as lower case. All other texts are compared in this process.
 */
const mayMatch = ({ wanted, authorIds }: Search) => sql<boolean>`(
  strpos(lower(messages.content collate "C"), ${wanted.folded}) > 0 or octet_length(messages.content) <> length(messages.content)
  or messages.attachments is not null or messages.webhook_id is not null
  or messages.author_id in (select unnest(${authorIds}::uuid[])))`

type Candidates = Awaited<ReturnType<ReturnType<typeof selectWanted>['execute']>>

function keepMatching(messages: Candidates, { wanted, authorIds }: Search): Hit[] {
  const authors = new Set(authorIds)
  return messages.filter(
    (message) =>
      (message.authorId !== null && authors.has(message.authorId)) || foldMessage(message).includes(wanted.folded),
  )
}
