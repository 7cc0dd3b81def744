import { type ApiError, type Message, unavailable } from '@parley/contract'
import { anyOf, type ChannelRow, type Database, isOutOfTime, prepared, type Reader } from '@parley/database'
import type { Caller } from '@parley/identity'
import { sql } from 'kysely'
import { selectMessages } from '../messages/messages.queries.ts'
import {
  type Beginning,
  beginSearch,
  type Hit,
  type Newest,
  type Search,
  searchByAuthors,
  searchByText,
  searchNewest,
} from './projection.queries.ts'
import type { Wanted } from './search.schema.ts'
import { searchBelow, searchThese } from './unindexed.queries.ts'

export interface SearchSizes {
  /** Messages that are looked at one by one before any index is asked. */
  nearest: number
  /** So many are looked at when the nearest say that what is wanted will be among them. */
  near: number
  /** A channel with so few messages is looked through from end to end. */
  smallChannel: number
  /** Messages that the projection does not have, in one statement. */
  portion: number
  /** After so many milliseconds a search is given up. */
  patienceMs: number
  /** The same while the projection lacks more than `portion` messages, which takes longer to look through. */
  longPatienceMs: number
}

const searchSizes: SearchSizes = {
  nearest: 250,
  near: 2_000,
  smallChannel: 20_000,
  portion: 10_000,
  patienceMs: 3_000,
  longPatienceMs: 10_000,
}

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
  return inSnapshot(db, wanted.text, sizes, async (snapshot, beginning, requireTime) => {
    const search = { caller, wanted, ...beginning }
    await requireTime()
    const projected = await searchProjection(snapshot, search, channel, sizes, requireTime)
    const unseen = await searchUnseen(snapshot, search, sizes, requireTime)
    const hits = [...projected, ...unseen, ...(await searchUnread(snapshot, search, sizes, requireTime))]
    await requireTime()
    // What was sent since the projection last said how far it is may be in it all the same.
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
 * Those that are not part of the unread past, the latest first and some at a time: there may be hundreds of thousands, and judging
 * them is work of this process, in which others wait. Once there are enough hits, nothing older than they are is looked at.
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

/** All of the past that the projection has not read: ids say only roughly when a message was written. */
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

/** Ids as PostgreSQL compares them: all are lower-case. */
const newestFirst = (a: Hit, b: Hit) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)

/** Gives what follows only the time that is left. @throws ApiError 503 when there is none. */
type RequireTime = (late?: () => ApiError) => Promise<void>

/** Of a transaction whose statements may take so long each, all of them together: give or take a tenth, which is not worth a statement. */
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
 * One snapshot for several statements, begun with what the projection does not know in it. Until that is read the outbox is
 * locked, because emptied under a snapshot it would look as if nothing had been recorded; no longer, so that a slow search does
 * not keep it from being emptied. None of what comes before takes the snapshot. The settings keep the planner from reading a
 * whole table where an index is meant, and from planning each search anew: what it cannot know of the values makes no better plan.
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
      // Gives the lock back; the snapshot stays.
      await sql`rollback to savepoint outbox`.execute(snapshot)
      // Nobody waits for the end of what has changed nothing.
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
