import { isReady } from '@parley/redis'
import type { Redis } from 'ioredis'
import { decodeBatch, decodeLines, type PositionedEvent } from './batch.ts'
import { type Pool, readBatches } from './positions.queries.ts'

/** The newest events in memory, without gaps, bounded in number and size. */
interface Window {
  add(events: readonly PositionedEvent[]): void
  /** Up to `limit` events after a position; undefined when the first of them was dropped already. */
  after(pos: number, limit: number): PositionedEvent[] | undefined
  clear(): void
}

export function createWindow(maxEvents: number, maxBytes: number): Window {
  let events: (PositionedEvent | undefined)[] = []
  let head = 0
  let bytes = 0

  const drop = () => {
    bytes -= sizeOf(events[head]!)
    // The place stays until the rest is copied. An event takes far more, so it goes at once.
    events[head] = undefined
    head++
  }

  return {
    add(more) {
      for (const event of more) {
        events.push(event)
        bytes += sizeOf(event)
      }
      while (head < events.length && (events.length - head > maxEvents || bytes > maxBytes)) drop()
      // The rest is copied only after as many events were dropped, so the cost per event is constant.
      if (head > events.length / 2) {
        events = events.slice(head)
        head = 0
      }
    },
    after(pos, limit) {
      const first = events[head]?.pos
      if (first === undefined || pos + 1 < first) return undefined
      const from = head + pos + 1 - first
      return events.slice(from, from + limit) as PositionedEvent[]
    },
    clear() {
      events = []
      head = 0
      bytes = 0
    },
  }
}

/** The estimated bytes of an event: the object with its routing, and the text twice, as received and as the frame to send. */
const sizeOf = ({ event }: PositionedEvent) => 300 + 2 * (event?.length ?? 0)

type Source = 'redis' | 'postgresql'

export interface Reading {
  /** The events after the given position, in order and without gaps. */
  events: PositionedEvent[]
  source: Source
}

/**
 * Reads events after a position from the Redis Stream, else from PostgreSQL: at least one, and up to `limit`. Returns
 * 'gone' when neither has the first of them.
 * @throws when PostgreSQL is needed and does not answer.
 */
export async function readEvents(
  { redis, pool, key }: { redis: Redis; pool: Pool; key: string },
  after: number,
  limit: number,
): Promise<Reading | 'gone'> {
  const streamed = await readStream(redis, key, after, limit)
  if (streamed.length > 0) return { events: streamed, source: 'redis' }

  const batches = await readBatches(pool, after, limit)
  if (batches === 'gone') return 'gone'
  const events = batches.flatMap(decodeLines).filter(({ pos }) => pos > after)
  return events.length > 0 ? { events: events.slice(0, limit), source: 'postgresql' } : 'gone'
}

const entriesAtOnce = 50

/** Empty when the Redis Stream does not have the event after `after`, or Redis does not answer. */
async function readStream(redis: Redis, key: string, after: number, limit: number): Promise<PositionedEvent[]> {
  const events: PositionedEvent[] = []
  let known = after
  while (isReady(redis) && events.length < limit) {
    const entries = await redis.xrange(key, `${known + 1}-0`, '+', 'COUNT', entriesAtOnce).catch(() => [])
    for (const [, fields] of entries) {
      const missing = decodeEntry(fields[1]).filter(({ pos }) => pos > known)
      if (missing[0]?.pos !== known + 1) return events
      events.push(...missing)
      known += missing.length
    }
    if (entries.length < entriesAtOnce) break
  }
  return events.slice(0, limit)
}

/** Empty when the text cannot be read. The caller then reads the same events from PostgreSQL. */
function decodeEntry(text = ''): PositionedEvent[] {
  try {
    return decodeBatch(text)
  } catch {
    return []
  }
}

/**
 * Reads about `limit` events after a position from PostgreSQL, in order and without gaps. It is for readers at their
 * own pace, which need neither Redis nor the newest event at once. Empty when there are none, 'gone' when the next
 * event was removed.
 */
export async function readLog(pool: Pool, after: number, limit: number): Promise<PositionedEvent[] | 'gone'> {
  const batches = await readBatches(pool, after, limit)
  return batches === 'gone' ? 'gone' : batches.flatMap(decodeLines).filter(({ pos }) => pos > after)
}
