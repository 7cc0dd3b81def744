import type { Message } from '@parley/contract'
import { unavailable } from '@parley/contract'
import { type ChannelRow, type Database, findUnseenChanges, type Transaction } from '@parley/database'
import type { Caller } from '@parley/identity'
import { sql } from 'kysely'
import { selectMessages } from '../messages/messages.queries.ts'
import {
  findAuthors,
  findProgress,
  type Hit,
  type Search,
  searchByAuthors,
  searchByText,
  searchNewest,
} from './projection.queries.ts'
import type { Wanted } from './search.fields.ts'
import { searchBelow, searchThese } from './unprojected.queries.ts'

export interface SearchSizes {
  /** Messages that are looked at one by one before any index is asked. */
  nearest: number
  /** A channel with so few messages is looked through from end to end. */
  smallChannel: number
  /** Messages of the unread past in one statement. */
  portion: number
}

const searchSizes: SearchSizes = { nearest: 2_000, smallChannel: 20_000, portion: 5_000 }
/** What one search may take of the database's time. */
const patienceMs = 3_000

/**
 * Messages that the caller may read, newest first. Every way of looking sees one snapshot, so a message is either in the copies
 * that the projection has, or among those it has not read yet, which are judged by what they say themselves.
 */
export function searchMessages(
  db: Database,
  caller: Caller,
  wanted: Wanted,
  channel: ChannelRow | undefined,
  sizes: SearchSizes = searchSizes,
): Promise<Message[]> {
  return inSnapshot(db, async (trx) => {
    const { seenId, unreadBelow } = await findProgress(trx)
    const unseenIds = await findUnseenChanges(trx, seenId)
    const authorIds = await findAuthors(trx, wanted.text)
    const search = { caller, wanted, authorIds, unseenIds, unreadBelow }

    const hits = [
      ...(await searchProjection(trx, search, channel, sizes)),
      ...(await searchThese(
        trx,
        search,
        unreadBelow === null ? unseenIds : unseenIds.filter((id) => id >= unreadBelow),
      )),
      ...(await searchUnread(trx, search, sizes)),
    ]
    return findWhole(trx, hits.sort(newestFirst).slice(0, wanted.limit))
  })
}

async function searchProjection(
  trx: Transaction,
  search: Search,
  channel: ChannelRow | undefined,
  { nearest, smallChannel }: SearchSizes,
): Promise<Hit[]> {
  const { limit } = search.wanted
  const near = await searchNewest(trx, search, nearest)
  if (near.exhausted || near.hits.length === limit) return near.hits
  if (channel && channel.lastSeq <= smallChannel) {
    const all = await searchNewest(trx, search, 2 * smallChannel)
    if (all.exhausted || all.hits.length === limit) return all.hits
  }
  const hits = new Map(
    [...(await searchByText(trx, search)), ...(await searchByAuthors(trx, search))].map((hit) => [hit.id, hit]),
  )
  return [...hits.values()]
}

/** All of the past that the projection has not read: ids say only roughly when a message was written. */
async function searchUnread(trx: Transaction, search: Search, { portion }: SearchSizes): Promise<Hit[]> {
  const deadline = performance.now() + patienceMs
  let best: Hit[] = []
  let below = search.unreadBelow
  while (below !== null) {
    if (performance.now() > deadline) throw unavailable('Search is still reading old messages, please try again', 30)
    const next = await searchBelow(trx, search, below, portion)
    best = [...best, ...next.hits].sort(newestFirst).slice(0, search.wanted.limit)
    below = next.below
  }
  return best
}

async function findWhole(trx: Transaction, hits: readonly Hit[]): Promise<Message[]> {
  if (hits.length === 0) return []
  const ids = hits.map(({ id }) => id)
  const messages = await selectMessages(trx).where('messages.id', '=', sql<string>`any(${ids}::uuid[])`).execute()
  const place = new Map(ids.map((id, index) => [id, index]))
  return messages.sort((a, b) => place.get(a.id)! - place.get(b.id)!)
}

/** Ids as PostgreSQL compares them: all are lower-case. */
const newestFirst = (a: Hit, b: Hit) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)

/**
 * One snapshot for several statements. The outbox is locked first: emptied under a snapshot, it would look as if nothing had been
 * recorded. The settings keep the planner from reading a whole table where an index is meant.
 */
function inSnapshot<T>(db: Database, work: (trx: Transaction) => Promise<T>): Promise<T> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      await sql`lock table outbox in access share mode`.execute(trx)
      await sql`select set_config('statement_timeout', ${String(patienceMs)}, true), set_config('enable_seqscan', 'off', true),
        set_config('jit', 'off', true)`.execute(trx)
      return work(trx)
    })
}
