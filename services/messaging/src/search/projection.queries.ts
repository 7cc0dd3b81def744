import { canReadById } from '@parley/access'
import { nameKey } from '@parley/accounts'
import { executePrepared, prepared, type Reader } from '@parley/database'
import type { Caller } from '@parley/identity'
import {
  foldedFurther,
  foldText,
  readUnindexed,
  searchGrams,
  selectUnindexed,
  type Unindexed,
  type UnindexedRow,
} from '@parley/search'
import { type RawBuilder, sql } from 'kysely'
import type { Wanted } from './search.schema.ts'

/** A message that was found. */
export interface Hit {
  id: string
  createdAt: number
}

/** What all ways through the projection have in common. What it does not have yet is judged by the messages themselves. */
export interface Search extends Beginning {
  caller: Caller
  wanted: Wanted
}

export interface Beginning extends Unindexed {
  /** People, removed ones too, whose name contains what is wanted. */
  authorIds: string[]
}

/** What every search begins with, in one statement: what the projection does not have, and whose name contains a text. */
export async function beginSearch(snapshot: Reader, text: string): Promise<Beginning> {
  const folded = foldText(nameKey(text))
  const grams = folded === '' ? [] : searchGrams(folded)
  const [row] = await selectBeginning(snapshot, { grams, further: folded === '' ? [] : foldedFurther })
  const authors = row!.named.filter(({ key }) => foldText(key).includes(folded))
  return { ...(await readUnindexed(snapshot, row!)), authorIds: authors.map(({ id }) => id) }
}

/** Keys of names are folded less than texts: those with a character that matters are folded here. Served by users_name_grams. */
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
  /** There were no more messages to look at. */
  exhausted: boolean
}

/**
 * Looks at the newest messages one by one, `most` of them: what is frequent is found like this at once. Served by
 * message_search_newest, message_search_of_channel or message_search_of_author; how many is part of the text, so that the plan knows.
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
      where (strpos(d.folded, ${folded}) > 0 or d.author_id = any(${search.authorIds}::uuid[])) and ${trusted(search)}
      order by created_at desc, message_id desc limit ${limit}
    )
    select (select count(*)::int from near) as seen,
      (select coalesce(json_agg(json_build_object('id', id, 'createdAt', created_at)), '[]') from found) as hits`
  const [row] = await executePrepared(snapshot, query.compile(snapshot))
  const { seen, hits } = row!
  return { hits, exhausted: seen < most }
}

/**
 * The newest messages that contain the text, segment after segment, until there are enough: of each segment the index names those
 * that have all grams, and the text itself decides. Adding nothing to a column hides it from the other indexes.
 */
export async function searchByText(snapshot: Reader, search: Search): Promise<Hit[]> {
  const { folded, from, to, limit, before } = search.wanted
  const newest = Math.min(to, before?.createdAt ?? to)
  const query = sql<Hit>`
    with stretches as materialized (
      select array(select segment::bigint << 40 | gram from unnest(grams) gram) as keys, from_at
      from (select search_keys(0, ${searchGrams(folded)}::text[]) as grams) wanted,
        (select segment, from_at, lead(from_at) over (order by from_at) as until from search_segments) segments
      where from_at <= ${newest} and coalesce(until > ${from}, true)
    )
    select found.id, found.created_at from (select keys from stretches order by from_at desc) stretch cross join lateral (
      select d.message_id as id, d.created_at from message_search d
      where search_grams(d.segment, d.folded) @> stretch.keys and strpos(d.folded, ${folded}) > 0
        and ${inPlace(search.wanted)} and ${inTime(search.wanted, sql`(d.created_at + 0)`)} and ${trusted(search)}
      order by d.created_at + 0 desc, d.message_id desc limit ${limit}
    ) found
    limit ${limit}`
  return executePrepared(snapshot, query.compile(snapshot))
}

/**
 * The newest messages of these authors, who may be thousands: of each the newest one first. Those of the authors whose newest are
 * newest are all that is wanted. Served by message_search_of_author, once per author.
 */
export async function searchByAuthors(snapshot: Reader, search: Search): Promise<Hit[]> {
  const { authorId, limit } = search.wanted
  const authorIds = search.authorIds.filter((id) => authorId === undefined || id === authorId)
  if (authorIds.length === 0) return []
  const newest = (most: number) => sql`
    select d.message_id as id, d.created_at from message_search d
    where d.author_id = author.id and ${inPlace({ ...search.wanted, authorId: undefined })}
      and ${inTime(search.wanted, sql`d.created_at`)} and ${trusted(search)}
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

/** In a form that no index serves: the search goes by another one. */
const inPlace = ({ channelId, authorId }: Pick<Wanted, 'channelId' | 'authorId'>) => sql`(true
  ${channelId === undefined ? sql`` : sql`and d.channel_id is not distinct from ${channelId}::uuid`}
  ${authorId === undefined ? sql`` : sql`and d.author_id is not distinct from ${authorId}::uuid`})`

/**
 * Whether the copy is up to date and the caller may read it. Of ids in a subquery PostgreSQL makes a hash table; an array it would
 * walk through for each row.
 */
const trusted = ({ caller, changedIds, unreadBelow }: Search) => sql`(
  d.message_id not in (select unnest(${changedIds}::uuid[])) ${unreadBelow === null ? sql`` : sql`and d.message_id >= ${unreadBelow}::uuid`}
  and ${canReadById('d.channel_id', caller)})`
