import { invalid, usualPageSize } from '@parley/contract'
import { isRowId, type Reader } from '@parley/database'
import { type RawBuilder, sql } from 'kysely'

/** The page that a request asks for. Without both fields it is the whole listing. */
export interface PageRequest {
  limit?: number
  /** The id of the last item of the previous page. */
  after?: string
}

interface Listing {
  /** The name of the list in the response. */
  name: string
  /** The largest number of items on a page. */
  most: number
  /** The row id of an item's id, when they differ; null when the text cannot be an id. */
  rowId?: (after: string) => string | null
  /** Selects the sort key of an item as `key`; no row when the item is not in the caller's listing. */
  sortKeyOf: (rowId: string) => RawBuilder<unknown>
  /** Selects the items in order, with the columns named as on the wire. */
  items: (page: ListingPage) => RawBuilder<unknown>
}

interface ListingPage {
  /** Whether this is a page, and not the whole listing. */
  isPage: boolean
  /**
   * The condition that an item comes after the last item of the previous page. It compares with `key`, and is true on
   * the first page.
   */
  after: (comparison: '<' | '>', column: string) => RawBuilder<unknown>
  /** The `limit` clause, with one more item than the page has; empty for the whole listing. */
  limit: RawBuilder<unknown>
}

/**
 * The JSON text of `{<name>: […], hasMore}`, from one statement. PostgreSQL builds the text: with 50,000 items,
 * creating and serializing objects would take most of the time of the request. The response has exactly the columns that
 * `items` selects.
 * @throws ApiError 400 when `after` is not an item of the listing.
 */
export async function listAsJson(db: Reader, request: PageRequest, listing: Listing): Promise<string> {
  const { after } = request
  const asked = request.limit ?? (after === undefined ? undefined : usualPageSize)
  const size = asked === undefined ? Number.MAX_SAFE_INTEGER : Math.min(asked, listing.most)
  const rowId = after === undefined ? undefined : listing.rowId ? listing.rowId(after) : after
  if (rowId === null || (rowId !== undefined && !isRowId(rowId))) throw unknownItem()

  const items = listing.items({
    isPage: asked !== undefined,
    after: (comparison, column) =>
      rowId === undefined ? sql`true` : sql`${sql.ref(column)} ${sql.raw(comparison)} (select key from last)`,
    limit: asked === undefined ? sql`` : sql`limit ${size + 1}`,
  })
  const { rows } = await sql<{ page: string; isKnown: boolean }>`
    with last as materialized (${rowId === undefined ? sql`select null as key` : listing.sortKeyOf(rowId)})
    select exists (select from last) as is_known,
      concat('{', to_json(${listing.name}::text), ':[', string_agg(item, ',') filter (where n <= ${size}::bigint),
        '],"hasMore":', (count(*) > ${size}::bigint)::text, '}') as page
    from (select row_to_json(item)::text as item, row_number() over () as n from (${items}) item) numbered`.execute(db)
  if (!rows[0]!.isKnown) throw unknownItem()
  return rows[0]!.page
}

/** `PageRequest` of a listing that has two orders. */
export interface OrderedPageRequest extends PageRequest {
  /** By name unless given. */
  order?: 'name' | 'id'
}

/** `sortKeyOf` of a listing that is ordered by id. The item itself may be gone. */
export const keyOfId = (rowId: string) => sql`select ${rowId}::uuid as key`

const unknownItem = () => invalid('after must be the id of an item of this list', 'invalid_cursor')
