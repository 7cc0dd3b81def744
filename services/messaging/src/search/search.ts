import { type ApiError, type Message, unavailable } from '@parley/contract'
import { type ChannelRow, type Database, findUnseenChanges, isOutOfTime, type Transaction } from '@parley/database'
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
  /** After so many milliseconds a search is given up. */
  patienceMs: number
}

const searchSizes: SearchSizes = { nearest: 2_000, smallChannel: 20_000, portion: 5_000, patienceMs: 3_000 }

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
  const deadline = performance.now() + sizes.patienceMs
  return inSnapshot(db, sizes.patienceMs, async (trx, { unreadBelow, unseenIds }) => {
    const authorIds = await findAuthors(trx, wanted.text)
    const search = { caller, wanted, authorIds, unseenIds, unreadBelow }

    const hits = [
      ...(await searchProjection(trx, search, channel, sizes, deadline)),
      ...(await searchThese(
        trx,
        search,
        unreadBelow === null ? unseenIds : unseenIds.filter((id) => id >= unreadBelow),
      )),
      ...(await searchUnread(trx, search, sizes, deadline)),
    ]
    return findWhole(trx, hits.sort(newestFirst).slice(0, wanted.limit))
  })
}

async function searchProjection(
  trx: Transaction,
  search: Search,
  channel: ChannelRow | undefined,
  { nearest, smallChannel }: SearchSizes,
  deadline: number,
): Promise<Hit[]> {
  const { limit } = search.wanted
  const near = await searchNewest(trx, search, nearest)
  if (near.exhausted || near.hits.length === limit) return near.hits
  await keepTo(trx, deadline)
  if (channel && channel.lastSeq <= smallChannel) {
    const all = await searchNewest(trx, search, 2 * smallChannel)
    if (all.exhausted || all.hits.length === limit) return all.hits
  }
  const byText = await searchByText(trx, search)
  await keepTo(trx, deadline)
  const byAuthors = await searchByAuthors(trx, search)
  return [...new Map([...byText, ...byAuthors].map((hit) => [hit.id, hit])).values()]
}

/** All of the past that the projection has not read: ids say only roughly when a message was written. */
async function searchUnread(
  trx: Transaction,
  search: Search,
  { portion }: SearchSizes,
  deadline: number,
): Promise<Hit[]> {
  let best: Hit[] = []
  let below = search.unreadBelow
  while (below !== null) {
    await keepTo(trx, deadline, stillReading)
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

/** Gives what follows only the time that is left. @throws ApiError 503 when there is none. */
async function keepTo(trx: Transaction, deadline: number, late: () => ApiError = tooSlow): Promise<void> {
  const leftMs = Math.floor(deadline - performance.now())
  if (leftMs < 1) throw late()
  await sql`select set_config('statement_timeout', ${String(leftMs)}, true)`.execute(trx)
}

const tooSlow = () => unavailable('This search takes too long, please search for more, or in one channel', 5)
const stillReading = () => unavailable('Search is still reading old messages, please try again', 30)

interface Unprojected {
  unseenIds: string[]
  unreadBelow: string | null
}

/**
 * One snapshot for several statements, begun with what the projection does not know in it. Until that is read the outbox is
 * locked, because emptied under a snapshot it would look as if nothing had been recorded; no longer, so that a slow search does
 * not keep it from being emptied. None of what comes before takes the snapshot. The settings keep the planner from reading a
 * whole table where an index is meant.
 */
function inSnapshot<T>(
  db: Database,
  patienceMs: number,
  work: (trx: Transaction, unprojected: Unprojected) => Promise<T>,
): Promise<T> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      await sql
        .raw(
          `set local statement_timeout = ${patienceMs}; set local enable_seqscan = off; set local jit = off;
           savepoint outbox; lock table outbox in access share mode`,
        )
        .execute(trx)
      const { seenId, unreadBelow } = await findProgress(trx)
      const unseenIds = await findUnseenChanges(trx, seenId)
      // Gives the lock back; the snapshot stays.
      await sql`rollback to savepoint outbox`.execute(trx)
      return work(trx, { unreadBelow, unseenIds })
    })
    .catch((error) => {
      throw isOutOfTime(error) ? tooSlow() : error
    })
}
