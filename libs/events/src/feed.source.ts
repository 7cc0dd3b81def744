import type { Redis } from 'ioredis'
import { decodeBatch, decodeLines, type PositionedEvent } from './batch.format.ts'
import { type Pool, readBatches } from './positions.queries.ts'
import { isReady } from './redis.connection.ts'

export type Source = 'redis' | 'postgresql'

export interface Reading {
  /** The events after the position asked for, in order and without gaps. */
  events: PositionedEvent[]
  source: Source
}

/**
 * Reads events after a position from the Redis Stream, else from PostgreSQL, up to `limit` of them but at least one.
 * 'gone' when neither has the first of them.
 * @throws when PostgreSQL is needed and away.
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

/** Empty when the stream does not have what follows `after`, or Redis does not answer. */
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

/** Nothing when it makes no sense: PostgreSQL has the same, and is the truth. */
function decodeEntry(text = ''): PositionedEvent[] {
  try {
    return decodeBatch(text)
  } catch {
    return []
  }
}
