import { isReady, publishCommand, type redisNames } from '@parley/redis'
import type { Redis } from 'ioredis'
import { type Batch, batchAfter, encodeBatch, inTraceOf, joinBatches, splitBatch } from './batch.ts'
import { findOldestPosition, type Pool, readBatches } from './positions.queries.ts'

/** The only field of an entry of the Redis Stream. */
export const entryField = 'e'

/**
 * The replay window in Redis. Only the leader writes it, and in parallel to its steps, so that a slow Redis never
 * delays the lease.
 */
export interface RedisStreamWriter {
  /** Announces that positions up to `pos` are assigned. `batch` has the new events, if any. Never throws, never waits. */
  offer(pos: number, batch?: Batch): void
  /** Stops appending. Resolves when the last append has ended. */
  close(): Promise<void>
  /** Allows Redis to drop entries that end below this position. */
  trim(below: number): void
  /** Whether Redis has positions that PostgreSQL does not have, because PostgreSQL was restored from a backup. */
  readonly isAhead: boolean
}

interface RedisStreamWriterOptions {
  redis: Redis
  names: ReturnType<typeof redisNames>
  pool: Pool
  epoch: string
  /** The last position that was assigned before this term. */
  pos: number
  /** The largest number of events to append again when Redis has lost them. */
  maxEvents: number
  /** Called when Redis refuses to append, once until it appends again. */
  onError(error: unknown): void
}

const maxEntryChars = 1_000_000
const maxQueued = 8
const repairEvents = 2_000
/** How long nothing is appended after Redis has refused it, for instance because its memory is full: each attempt reads events again. */
const refusedPauseMs = 1_000

/**
 * Appends the offered batches. At the start, after any failure, and when Redis refuses a batch because the previous one
 * is missing (`inDoubt`), it reads the last position in Redis and appends all later events from PostgreSQL.
 */
export function openRedisStreamWriter({
  redis,
  names,
  pool,
  epoch,
  pos: begunAt,
  maxEvents,
  onError,
}: RedisStreamWriterOptions): RedisStreamWriter {
  const key = names.stream(epoch)
  const appendEvents = defineAppend(redis)
  let queue: Batch[] = []
  let target = begunAt
  /** The last position that was assigned before this term or appended in it. Later positions in Redis are of another history. */
  let lastOwnPosition = begunAt
  let trimBelow = 0
  /** Whether the Redis Stream may lack events below the queued ones. */
  let inDoubt = true
  let isAhead = false
  let closed = false
  let working: Promise<void> | undefined
  /** When Redis refused the last append. Undefined after one that it accepted. */
  let refusedAt: number | undefined

  const continueWithRedis = () => {
    // Redis may have restarted, and lost events.
    inDoubt = true
    writer.offer(target)
  }
  redis.on('ready', continueWithRedis)

  const writer: RedisStreamWriter = {
    trim(below) {
      trimBelow = below
      // A Redis whose memory is full refuses to append, and this frees memory.
      if (refusedAt !== undefined && isReady(redis)) redis.xtrim(key, 'MINID', '~', below).catch(onError)
    },
    get isAhead() {
      return isAhead
    },
    offer(pos, batch) {
      target = pos
      if (batch) queue.push(batch)
      if (queue.length > maxQueued || !isReady(redis)) {
        queue = []
        inDoubt = true
      }
      if (closed || isAhead || working || !isReady(redis) || (queue.length === 0 && !inDoubt)) return
      if (refusedAt !== undefined && performance.now() < refusedAt + refusedPauseMs) return
      working = appendQueued().finally(() => {
        working = undefined
      })
    },
    async close() {
      closed = true
      redis.off('ready', continueWithRedis)
      await working
    },
  }

  /** Appends what is queued, and repairs the Redis Stream before it where that is necessary. Never rejects. */
  async function appendQueued() {
    try {
      while (!isAhead && (queue.length > 0 || (inDoubt && !closed))) {
        if (inDoubt) await repair()
        else if (!(await append(queue.shift()!))) inDoubt = true
      }
      refusedAt = undefined
    } catch (error) {
      inDoubt = true
      if (!isReady(redis)) return
      if (refusedAt === undefined) onError(error)
      refusedAt = performance.now()
    }
  }

  /**
   * Returns whether the batch is now the last one in the Redis Stream. With `isBeginning` the batch may be the first one of a new Redis
   * Stream.
   */
  function append(batch: Batch, { isBeginning = false } = {}): Promise<boolean> {
    return inTraceOf(batch, () => appendParts(batch, isBeginning))
  }

  async function appendParts(batch: Batch, isBeginning: boolean): Promise<boolean> {
    for (const [index, part] of splitBatch(batch, maxEntryChars).entries()) {
      const last = part.first + part.count - 1
      const floor = Math.max(trimBelow, last - maxEvents)
      lastOwnPosition = Math.max(lastOwnPosition, last)
      const top = await appendEvents(
        key,
        names.events,
        String(part.first),
        String(last),
        encodeBatch(epoch, part),
        String(floor),
        isBeginning && index === 0 ? '1' : '0',
      )
      if (Number(top) !== last) return false
    }
    return true
  }

  /** Appends one batch of the missing events. Clears `inDoubt` once nothing is missing. */
  async function repair(): Promise<void> {
    queue = []
    const pos = target
    const top = await findStreamTop(redis, key)
    isAhead = top > lastOwnPosition
    if (isAhead) return

    if (top < pos) {
      const start = await findStart(top, pos)
      const kept = start < pos ? await readBatches(pool, start, repairEvents) : []
      const missing = kept === 'gone' || kept.length === 0 ? undefined : batchAfter(joinBatches(kept), start)
      // A new Redis Stream is begun, because the old one would have a hole. Nodes read the missing events from
      // PostgreSQL, if it still has them.
      const isBeginning = start !== top || top === 0 || !missing
      if (isBeginning) await redis.del(key)
      if (missing && !(await append(missing, { isBeginning }))) return
      if (missing && missing.first + missing.count - 1 < pos) return
    }
    // Batches that were offered meanwhile are in `queue`. Otherwise the next append finds that they are missing.
    inDoubt = target > pos && queue.length === 0
  }

  /** The position after which to append: the last one in Redis, unless too many events are missing or were removed. */
  async function findStart(top: number, pos: number): Promise<number> {
    const wanted = Math.max(top, pos - maxEvents)
    const oldest = (await findOldestPosition(pool, wanted)) ?? pos + 1
    return Math.max(wanted, oldest - 1)
  }

  return writer
}

/** The last position in a Redis Stream; 0 when there is none. */
async function findStreamTop(redis: Redis, key: string): Promise<number> {
  const [entry] = await redis.xrevrange(key, '+', '-', 'COUNT', 1)
  return entry ? Number.parseInt(entry[0], 10) : 0
}

function defineAppend(redis: Redis) {
  redis.defineCommand('appendEvents', { numberOfKeys: 1, lua: appendScript(publishCommand(redis)) })
  return (...values: string[]): Promise<string> =>
    (redis as unknown as { appendEvents(...values: string[]): Promise<string> }).appendEvents(...values)
}

/**
 * Appends and publishes in one step, if and only if the batch directly follows the last entry. Returns the last
 * position in the Redis Stream, which is that of the batch if it was appended.
 */
const appendScript = (publish: string) => `
local top = 0
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
if newest[1] then top = tonumber(string.match(newest[1][1], '^%d+')) end
if top == tonumber(ARGV[2]) - 1 or (top == 0 and ARGV[6] == '1') then
  redis.call('XADD', KEYS[1], 'MINID', '~', ARGV[5], ARGV[3] .. '-0', '${entryField}', ARGV[4])
  redis.call('${publish}', ARGV[1], ARGV[4])
  top = tonumber(ARGV[3])
end
return string.format('%.0f', top)`
