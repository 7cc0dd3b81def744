import { type ApiError, type Message, unavailable } from '@parley/contract'
import { anyOf, type ChannelRow, type Database, isOutOfTime, prepared, type Reader } from '@parley/database'
import type { Caller } from '@parley/identity'
import { selectMessages } from '@parley/messages'
import { sql } from 'kysely'
import {
  type Beginning,
  beginSearch,
  type Hit,
  type Newest,
  type Search,
  searchBelow,
  searchByAuthors,
  searchByText,
  searchNewest,
  searchThese,
  type Wanted,
} from './search.queries.ts'

export interface SearchSizes {
  /** How many messages are looked at one by one before any index is used. */
  nearest: number
  /** How many are looked at when the nearest ones suggest that the answer will be among them. */
  near: number
  /** A channel with at most so many messages is looked through from end to end. */
  smallChannel: number
  /** How many messages that the projection lacks one statement judges. */
  portion: number
  /** A search is given up after so many milliseconds. */
  patienceMs: number
  /** The same while the projection lacks more than `portion` messages, which takes longer to look through. */
  longPatienceMs: number
}

export const searchSizes: SearchSizes = {
  nearest: 250,
  near: 2_000,
  smallChannel: 20_000,
  portion: 10_000,
  patienceMs: 3_000,
  longPatienceMs: 10_000,
}

/**
 * Messages that match and that the caller may read, newest first. All statements see one snapshot, so a message is either in the
 * projection, or among those that the projection has not read yet, which are judged by their own text.
 */
export function searchMessages(
  db: Database,
  caller: Caller,
  wanted: Wanted,
  channel: ChannelRow | undefined,
  sizes: SearchSizes = searchSizes,
): Promise<Message[]> {
  return inSnapshot(db, wanted.text, sizes, async (snapshot, beginning, requireTime) => {
    const search = { caller, wanted, ...beginning }
    await requireTime()
    const projected = await searchProjection(snapshot, search, channel, sizes, requireTime)
    const unseen = await searchUnseen(snapshot, search, sizes, requireTime)
    const hits = [...projected, ...unseen, ...(await searchUnread(snapshot, search, sizes, requireTime))]
    await requireTime()
    // A message sent since the projection last stored its progress may be in both.
    const once = [...new Map(hits.map((hit) => [hit.id, hit])).values()]
    return findWhole(snapshot, once.sort(newestFirst).slice(0, wanted.limit))
  })
}

async function searchProjection(
  snapshot: Reader,
  search: Search,
  channel: ChannelRow | undefined,
  { nearest, near, smallChannel }: SearchSizes,
  requireTime: RequireTime,
): Promise<Hit[]> {
  const { limit } = search.wanted
  const isEnough = ({ exhausted, hits }: Newest) => exhausted || hits.length === limit

  const first = await searchNewest(snapshot, search, nearest)
  if (isEnough(first)) return first.hits
  if (first.hits.length * near >= limit * nearest) {
    await requireTime()
    const newest = await searchNewest(snapshot, search, near)
    if (isEnough(newest)) return newest.hits
  }
  await requireTime()
  if (channel && channel.lastSeq <= smallChannel) {
    const all = await searchNewest(snapshot, search, 2 * smallChannel)
    if (isEnough(all)) return all.hits
  }
  const byText = await searchByText(snapshot, search)
  await requireTime()
  const byAuthors = await searchByAuthors(snapshot, search)
  return [...new Map([...byText, ...byAuthors].map((hit) => [hit.id, hit])).values()]
}

/**
 * Messages newer than the unread past, the latest first and some at a time: there may be hundreds of thousands, and judging them
 * keeps this process from other requests. Once there are enough hits, older messages are not looked at.
 */
async function searchUnseen(
  snapshot: Reader,
  search: Search,
  { portion }: SearchSizes,
  requireTime: RequireTime,
): Promise<Hit[]> {
  const { unseenIds, unreadBelow, wanted } = search
  const ids = unreadBelow === null ? unseenIds : unseenIds.filter((id) => id >= unreadBelow)
  let best: Hit[] = []
  let until = ids.length
  for (let size = Math.ceil(portion / 10); until > 0; size = portion) {
    await requireTime(catchingUp)
    const from = best.length < wanted.limit ? wanted.from : Math.max(wanted.from, best.at(-1)!.createdAt)
    const latest = ids.slice(Math.max(0, until - size), until)
    const hits = await searchThese(snapshot, { ...search, wanted: { ...wanted, from } }, latest)
    best = [...best, ...hits].sort(newestFirst).slice(0, wanted.limit)
    until -= latest.length
  }
  return best
}

/** All of the past that the projection has not read. Ids tell only roughly when a message was written, so all of it is looked at. */
async function searchUnread(
  snapshot: Reader,
  search: Search,
  { portion }: SearchSizes,
  requireTime: RequireTime,
): Promise<Hit[]> {
  let best: Hit[] = []
  let below = search.unreadBelow
  while (below !== null) {
    await requireTime(catchingUp)
    const next = await searchBelow(snapshot, search, below, portion)
    best = [...best, ...next.hits].sort(newestFirst).slice(0, search.wanted.limit)
    below = next.below
  }
  return best
}

async function findWhole(snapshot: Reader, hits: readonly Hit[]): Promise<Message[]> {
  if (hits.length === 0) return []
  const ids = hits.map(({ id }) => id)
  const messages = await selectThese(snapshot, { ids })
  const place = new Map(ids.map((id, index) => [id, index]))
  return messages.sort((a, b) => place.get(a.id)! - place.get(b.id)!)
}

const selectThese = prepared((db, { ids }: { ids: string[] }) =>
  selectMessages(db).where('messages.id', '=', anyOf(ids)),
)

/** Compares ids as PostgreSQL does: all are lower-case. */
const newestFirst = (a: Hit, b: Hit) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)

/** Limits the next statement to the time that is left. @throws ApiError 503 when no time is left. */
type RequireTime = (late?: () => ApiError) => Promise<void>

/** Limits all statements of a transaction together. A tenth more or less is not worth a statement that sets the limit anew. */
function timeLimit(
  snapshot: Reader,
  { allowedMs, patienceMs, begunAt }: { allowedMs: number; patienceMs: number; begunAt: number },
): RequireTime {
  return async (late = tooSlow) => {
    const leftMs = Math.floor(begunAt + patienceMs - performance.now())
    if (leftMs < 1) throw late()
    if (leftMs > 0.9 * allowedMs) return
    await sql`select set_config('statement_timeout', ${String(leftMs)}, true)`.execute(snapshot)
    allowedMs = leftMs
  }
}

const tooSlow = () => unavailable('This search takes too long. Please use a longer text, or search in one channel', 5)
const catchingUp = () => unavailable('Search is not up to date yet. Please try again', 30)

/**
 * One snapshot for several statements. The first reads what the projection lacks. The outbox is locked until then: if it were
 * emptied under the snapshot, it would look as if nothing had been recorded. The lock is released right after, so that a slow search
 * does not keep the outbox from being emptied. The statements before take no snapshot. The settings keep the planner from reading a
 * whole table where an index is meant, and from planning each search anew.
 */
function inSnapshot<T>(
  db: Database,
  text: string,
  { portion, patienceMs, longPatienceMs }: SearchSizes,
  work: (snapshot: Reader, beginning: Beginning, requireTime: RequireTime) => Promise<T>,
): Promise<T> {
  const begunAt = performance.now()
  // In one round trip, which Kysely's own transactions do not do.
  const begin = sql.raw(
    `begin isolation level repeatable read read only;
     set local statement_timeout = ${longPatienceMs};
     set local enable_seqscan = off; set local enable_bitmapscan = on; set local jit = off;
     set local plan_cache_mode = force_generic_plan;
     savepoint outbox; lock table outbox in access share mode`,
  )
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const done = db.connection().execute(async (snapshot) => {
    try {
      await begin.execute(snapshot)
      const beginning = await beginSearch(snapshot, text)
      // Releases the lock; the snapshot stays.
      await sql`rollback to savepoint outbox`.execute(snapshot)
      // The answer does not wait for the commit, because nothing was changed.
      const isFarBehind = beginning.unseenIds.length > portion || beginning.unreadBelow !== null
      const limit = timeLimit(snapshot, {
        allowedMs: longPatienceMs,
        patienceMs: isFarBehind ? longPatienceMs : patienceMs,
        begunAt,
      })
      resolve(await work(snapshot, beginning, limit))
      await sql`commit`.execute(snapshot)
    } catch (error) {
      await sql`rollback`.execute(snapshot)
      throw isOutOfTime(error) ? tooSlow() : error
    }
  })
  done.catch(reject)
  return promise
}
