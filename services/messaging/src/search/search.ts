import type { Message } from '@parley/contract'
import type { ChannelRow, Database, Reader } from '@parley/database'
import type { Caller } from '@parley/identity'
import { findMessages } from '@parley/messages'
import {
  type Hit,
  type Newest,
  type Search,
  searchBelow,
  searchByAuthors,
  searchByIds,
  searchByText,
  searchNewest,
  type Wanted,
} from './search.queries.ts'
import { catchingUp, inSnapshot, type RequireTime, type SnapshotLimits } from './search-snapshot.ts'

export interface SearchSizes extends SnapshotLimits {
  /** The number of messages that are scanned before any index is used. */
  nearest: number
  /** The number of messages that are scanned when the nearest ones suggest that this will find enough. */
  near: number
  /** A channel with at most this number of messages is scanned completely. */
  smallChannel: number
}

export const searchSizes: SearchSizes = {
  nearest: 250,
  near: 2_000,
  smallChannel: 20_000,
  portion: 10_000,
  timeoutMs: 3_000,
  longTimeoutMs: 10_000,
}

export interface SearchRequest {
  caller: Caller
  wanted: Wanted
  /** The channel or conversation that `wanted` names. */
  channel: ChannelRow | undefined
}

/** A search under way, in its snapshot. */
interface SearchRun {
  snapshot: Reader
  search: Search
  sizes: SearchSizes
  requireTime: RequireTime
}

/**
 * Messages that match and that the caller may read, newest first. All statements see one snapshot. So a message is
 * either in the projection, or it is one of those that the projection has not read yet, which are compared by their own
 * text.
 */
export function searchMessages(
  db: Database,
  request: SearchRequest,
  sizes: SearchSizes = searchSizes,
): Promise<Message[]> {
  const { caller, wanted, channel } = request
  return inSnapshot(db, wanted.text, sizes, async (snapshot, beginning, requireTime) => {
    const run: SearchRun = { snapshot, search: { caller, wanted, ...beginning }, sizes, requireTime }
    await requireTime()
    const projected = await searchProjection(run, channel)
    const recent = await searchRecentChanges(run)
    const hits = [...projected, ...recent, ...(await searchUnindexedPast(run))]
    await requireTime()
    // A message that was sent after the projection last stored its progress may be in both lists.
    return findHitMessages(snapshot, withoutRepetitions(hits).sort(newestFirst).slice(0, wanted.limit))
  })
}

async function searchProjection(run: SearchRun, channel: ChannelRow | undefined): Promise<Hit[]> {
  const { snapshot, search, requireTime } = run
  const { nearest, near, smallChannel } = run.sizes
  const { limit } = search.wanted
  const isEnough = ({ exhausted, hits }: Newest) => exhausted || hits.length === limit

  const first = await searchNewest(snapshot, search, nearest)
  if (isEnough(first)) return first.hits
  // If the further messages match as often as the nearest ones.
  const expectedHits = (first.hits.length * near) / nearest
  if (expectedHits >= limit) {
    await requireTime()
    const newest = await searchNewest(snapshot, search, near)
    if (isEnough(newest)) return newest.hits
  }
  await requireTime()
  if (channel && channel.lastSeq <= smallChannel) {
    // `lastSeq` does not count replies, and they are searched too. So this finds everything unless there are more replies than messages.
    const all = await searchNewest(snapshot, search, 2 * smallChannel)
    if (isEnough(all)) return all.hits
  }
  const byText = await searchByText(snapshot, search)
  await requireTime()
  const byAuthors = await searchByAuthors(snapshot, search)
  return withoutRepetitions([...byText, ...byAuthors])
}

const withoutRepetitions = (hits: readonly Hit[]): Hit[] => [...new Map(hits.map((hit) => [hit.id, hit])).values()]

/**
 * Searches the messages that were sent or changed after the projection's last update, newest first and in portions.
 * There may be hundreds of thousands, and comparing them delays other requests of this process. Once there are enough
 * hits, older messages are skipped.
 */
async function searchRecentChanges({ snapshot, search, sizes, requireTime }: SearchRun): Promise<Hit[]> {
  const { portion } = sizes
  const { unseenIds, unreadBelow, wanted } = search
  // Messages below it are searched by `searchUnindexedPast`.
  const ids = unreadBelow === null ? unseenIds : unseenIds.filter((id) => id >= unreadBelow)
  let best: Hit[] = []
  let until = ids.length
  // The first portion is smaller, because the newest messages are often enough.
  for (let size = Math.ceil(portion / 10); until > 0; size = portion) {
    await requireTime(catchingUp)
    const from = best.length < wanted.limit ? wanted.from : Math.max(wanted.from, best.at(-1)!.createdAt)
    const latest = ids.slice(Math.max(0, until - size), until)
    const hits = await searchByIds(snapshot, { ...search, wanted: { ...wanted, from } }, latest)
    best = [...best, ...hits].sort(newestFirst).slice(0, wanted.limit)
    until -= latest.length
  }
  return best
}

/**
 * Searches all old messages that the projection has not read yet. Their ids are only roughly ordered by time, so it
 * cannot stop early.
 */
async function searchUnindexedPast({ snapshot, search, sizes, requireTime }: SearchRun): Promise<Hit[]> {
  let best: Hit[] = []
  let below = search.unreadBelow
  while (below !== null) {
    await requireTime(catchingUp)
    const next = await searchBelow(snapshot, search, below, sizes.portion)
    best = [...best, ...next.hits].sort(newestFirst).slice(0, search.wanted.limit)
    below = next.below
  }
  return best
}

async function findHitMessages(snapshot: Reader, hits: readonly Hit[]): Promise<Message[]> {
  if (hits.length === 0) return []
  const ids = hits.map(({ id }) => id)
  const messages = await findMessages(snapshot, { ids })
  const order = new Map(ids.map((id, index) => [id, index]))
  return messages.sort((a, b) => order.get(a.id)! - order.get(b.id)!)
}

/** Ids are lower-case, so this order is the same as in PostgreSQL. */
const newestFirst = (a: Hit, b: Hit) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)
