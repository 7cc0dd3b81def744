import { setTimeout as delay } from 'node:timers/promises'
import { type Logger, label, type Metrics, metric } from '@parley/telemetry'
import { decodeBatch, type PositionedEvent, readHeader } from './batch.format.ts'
import { type Reading, readEvents } from './feed.source.ts'
import { createWaiters } from './feed.waiters.ts'
import { createWindow } from './feed.window.ts'
import { redisNames } from './keys.ts'
import { findTop, type Pool } from './positions.queries.ts'
import { followChannel } from './redis.channel.ts'
import type { RedisSettings } from './redis.client.ts'
import { connectRedis } from './redis.connection.ts'
import { createSignal } from './signal.ts'

export interface FeedOptions {
  pool: Pool
  redis: RedisSettings
  logger: Logger
  metrics: Metrics
  /** Most events kept in memory. */
  memoryEvents: number
  /** About as many bytes of them at most. */
  memoryBytes: number
  /** Gets every event once, in order, without gaps; the next ones wait until it has settled. */
  onEvents(events: PositionedEvent[]): void | Promise<void>
  /** Events were or will be missed: whoever listens must begin anew. Comes instead of `onEvents`, never beside it. */
  onReset(reason: string): void
}

export interface Feed {
  /** Resolves once it is known where the feed begins; waits for PostgreSQL, but not for Redis. */
  start(): Promise<void>
  close(): Promise<void>
  /** Positions mean something within an epoch only. */
  readonly epoch: string
  /** The last position handed to `onEvents`, after it has settled. */
  readonly position: number
  /**
   * Up to `limit` events after a position and not after `position`, in order and without gaps: from memory, the Redis
   * Stream or PostgreSQL. Empty when there are none; 'gone' when the position is outside the replay window or unknown.
   * @throws when PostgreSQL is needed and away.
   */
  read(after: number, limit: number): Promise<PositionedEvent[] | 'gone'>
  /** Whether the position was reached within the time; false at once when the feed is reset or closed. */
  waitFor(pos: number, timeoutMs: number): Promise<boolean>
}

const checkMs = 1_000
const holeEvents = 2_000
/** Beyond this what arrives is not kept: it is found missing, and read again, when its turn comes. */
const arrivalsChars = 32 * 1024 * 1024

/**
 * Follows the one order of events. What Redis publishes is a hint that may get lost: positions have no gaps, so a hole is
 * seen by the next batch, or by the look at PostgreSQL every second, and is filled before anything after it is handed on.
 */
export function createFeed(options: FeedOptions): Feed {
  const { pool, redis: settings, logger, metrics, memoryEvents, memoryBytes, onEvents, onReset } = options
  const names = redisNames(settings)
  const redis = connectRedis({ settings, name: 'parley-feed', logger })
  const subscriber = connectRedis({ settings, name: 'parley-feed-subscriber', logger })
  const replayed = metrics.counter(metric.eventsReplayed)
  const window = createWindow(memoryEvents, memoryBytes)
  const waiters = createWaiters()
  const news = createSignal()
  const closing = new AbortController()
  const arrivals: string[] = []
  let arrivedChars = 0
  let mustCheck = false
  let epoch = ''
  let position = 0
  let following: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const check = () => {
    mustCheck = true
    news.ring()
  }

  const channel = followChannel({
    redis: subscriber,
    channel: names.events,
    logger,
    onMessage(text) {
      if (arrivedChars + text.length > arrivalsChars) return
      arrivals.push(text)
      arrivedChars += text.length
      news.ring()
    },
    // What was published before is found by the look that follows.
    onFollowing: check,
  })

  async function follow() {
    while (!closing.signal.aborted) {
      try {
        for (let text = next(); text !== undefined; text = next()) await take(text)
        if (mustCheck) await compare()
        if (arrivals.length === 0) await news.wait(checkMs)
      } catch (err) {
        logger.warn({ err }, 'the feed cannot go on, it will try again')
        check()
        await delay(200, undefined, { signal: closing.signal }).catch(() => {})
      }
    }
  }

  function next() {
    const text = closing.signal.aborted ? undefined : arrivals.shift()
    arrivedChars -= text?.length ?? 0
    return text
  }

  async function take(text: string) {
    const header = readHeader(text)
    if (header.epoch !== epoch) return check()
    if (header.last <= position) return
    if (header.first > position + 1) await fill(header.first - 1)
    if (header.epoch === epoch && header.last > position)
      await hand(decodeBatch(text).filter(({ pos }) => pos > position))
  }

  /** Finds what nobody told: PostgreSQL knows the last position, and the epoch. */
  async function compare() {
    mustCheck = false
    const top = await findTop(pool)
    if (top.epoch !== epoch) return reset('another epoch has begun', top)
    if (top.pos < position) return reset('the positions were set back', top)
    await fill(top.pos)
  }

  async function fill(upTo: number) {
    while (position < upTo && !closing.signal.aborted) {
      const reading = await readEvents(
        { redis, pool, key: names.stream(epoch) },
        position,
        Math.min(upTo - position, holeEvents),
      )
      if (reading === 'gone') return reset('events are missing that nobody has any more', await findTop(pool))
      countReplayed(reading)
      await hand(reading.events)
    }
  }

  async function hand(events: PositionedEvent[]) {
    try {
      await onEvents(events)
    } catch (err) {
      // Who gets what is in doubt now, the events are not: streams that are ended resume behind their own last event.
      logger.error({ err }, 'events could not be handed on')
      onReset('events could not be handed on')
    }
    window.add(events)
    position = events.at(-1)!.pos
    waiters.reached(position)
  }

  function reset(reason: string, top: { epoch: string; pos: number }) {
    logger.warn({ reason, epoch: top.epoch, pos: top.pos, before: position }, 'the feed begins anew')
    epoch = top.epoch
    position = top.pos
    window.clear()
    waiters.giveUp()
    onReset(reason)
  }

  const countReplayed = ({ events, source }: Reading) => replayed.with({ [label.source]: source }).add(events.length)

  return {
    get epoch() {
      return epoch
    },
    get position() {
      return position
    },
    async start() {
      await channel.begun()
      while (epoch === '' && !closing.signal.aborted) {
        try {
          const top = await findTop(pool)
          epoch = top.epoch
          position = top.pos
        } catch (err) {
          if (closing.signal.aborted) return
          logger.warn({ err }, 'the feed waits for PostgreSQL')
          await delay(500, undefined, { signal: closing.signal }).catch(() => {})
        }
      }
      if (closing.signal.aborted) return
      timer = setInterval(check, checkMs)
      following = follow()
    },
    async close() {
      closing.abort()
      clearInterval(timer)
      news.ring()
      waiters.giveUp()
      await following
      redis.disconnect()
      subscriber.disconnect()
    },
    async read(after, limit) {
      if (after === position) return []
      if (after > position || after < 0) return 'gone'
      const remembered = window.after(after, limit)
      if (remembered) {
        replayed.with({ [label.source]: 'memory' }).add(remembered.length)
        return remembered
      }
      const upTo = position
      const reading = await readEvents({ redis, pool, key: names.stream(epoch) }, after, Math.min(limit, upTo - after))
      if (reading === 'gone') return 'gone'
      countReplayed(reading)
      return reading.events
    },
    waitFor: (pos, timeoutMs) => (position >= pos ? Promise.resolve(true) : waiters.wait(pos, timeoutMs)),
  }
}
