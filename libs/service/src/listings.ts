import { invalid, usualPageSize } from '@parley/contract'
import { isRowId, type Reader } from '@parley/database'
import { type RawBuilder, sql } from 'kysely'

/** What a request says of the page it wants; neither means the whole listing. */
export interface PageRequest {
  limit?: number
  /** The last item of the page before. */
  after?: string
}

export interface Listing {
  /** What the reply calls the items. */
  name: string
  /** The most items of a page. */
  most: number
  /** The row id within an item's id, when they differ; null for what cannot be one. */
  rowId?: (after: string) => string | null
  /** Selects where an item stands, as `key`; no row when the caller never had it. */
  placeOf: (rowId: string) => RawBuilder<unknown>
  /** Selects the items in order, with the columns named as on the wire. */
  items: (page: ListingPage) => RawBuilder<unknown>
}

export interface ListingPage {
  /** Whether this is a page, and not the whole. */
  isPage: boolean
  /** The condition that an item comes after the place: `key` compared to it, or nothing to exclude on a first page. */
  after: (comparison: '<' | '>', column: string) => RawBuilder<unknown>
  /** The `limit` clause, one more than the page has; empty for the whole. */
  limit: RawBuilder<unknown>
}

/**
 * The JSON text of `{<name>: […], hasMore}`, by one statement. PostgreSQL writes the text: with 50,000 items objects, the
 * schema's serializer and their garbage would be most of the request. What leaves is what `items` selects.
 * @throws ApiError 400 when `after` is no item of the listing.
 */
export async function listAsJson(db: Reader, request: PageRequest, listing: Listing): Promise<string> {
  const { after } = request
  const asked = request.limit ?? (after === undefined ? undefined : usualPageSize)
  const size = asked === undefined ? Number.MAX_SAFE_INTEGER : Math.min(asked, listing.most)
  const rowId = after === undefined ? undefined : listing.rowId ? listing.rowId(after) : after
  if (rowId === null || (rowId !== undefined && !isRowId(rowId))) throw unknownPlace()

  const items = listing.items({
    isPage: asked !== undefined,
    after: (comparison, column) =>
      rowId === undefined ? sql`true` : sql`${sql.ref(column)} ${sql.raw(comparison)} (select key from place)`,
    limit: asked === undefined ? sql`` : sql`limit ${size + 1}`,
  })
  const { rows } = await sql<{ reply: string; isKnown: boolean }>`
    with place as materialized (${rowId === undefined ? sql`select null as key` : listing.placeOf(rowId)})
    select exists (select from place) as is_known,
      concat('{', to_json(${listing.name}::text), ':[', string_agg(item, ',') filter (where n <= ${size}::bigint),
        '],"hasMore":', (count(*) > ${size}::bigint)::text, '}') as reply
    from (select row_to_json(item)::text as item, row_number() over () as n from (${items}) item) numbered`.execute(db)
  if (!rows[0]!.isKnown) throw unknownPlace()
  return rows[0]!.reply
}

const unknownPlace = () => invalid('after must be the id of an item of this list', 'invalid_cursor')
