import { setTimeout as delay } from 'node:timers/promises'
import { connectRedis, followChannel, type RedisSettings, redisNames } from '@parley/redis'
import { createFailureLog, type Logger, label, type Metrics, metric } from '@parley/telemetry'
import { decodeBatch, type PositionedEvent, readHeader } from './batch.ts'
import type { Cursor } from './cursor.ts'
import { createWindow, type Reading, readEvents } from './event-sources.ts'
import { type Pool, readNewestPosition } from './positions.queries.ts'
import { createSignal } from './wake.ts'

export interface FeedOptions {
  pool: Pool
  redis: RedisSettings
  logger: Logger
  metrics: Metrics
  /** The largest number of events in memory. */
  memoryEvents: number
  /** The largest size of these events, in bytes, as an estimate. */
  memoryBytes: number
  /** Receives every event once, in order, without gaps. The next events wait until it has settled. */
  onEvents(events: PositionedEvent[]): void | Promise<void>
  /** Called instead of `onEvents` when events were or will be missed. The listener must begin again. */
  onReset(reason: string): void
}

export interface Feed {
  /** Resolves once the position is known at which the feed begins. It waits for PostgreSQL, but not for Redis. */
  start(): Promise<void>
  close(): Promise<void>
  /** The epoch of `position`. Positions of different epochs cannot be compared. */
  readonly epoch: string
  /** The position of the last event for which `onEvents` has settled. */
  readonly position: number
  /**
   * Up to `limit` events after a position and not after `position`, in order and without gaps: from memory, the Redis
   * Stream or PostgreSQL. Empty when there are none, 'gone' when the position is outside the replay window or unknown.
   * @throws when PostgreSQL is needed and does not answer.
   */
  read(after: number, limit: number): Promise<PositionedEvent[] | 'gone'>
}

const checkMs = 1_000
const holeEvents = 2_000
/** With more waiting text than this, publications are dropped. The hole is found later, and the events are read again. */
const arrivalsChars = 32 * 1024 * 1024

/**
 * Follows all events in the order of their positions. A publication of Redis may get lost. Because positions have no
 * gaps, the next batch, or the check of PostgreSQL every second, reveals the hole. The hole is filled before later
 * events are passed on.
 */
export function createFeed(options: FeedOptions): Feed {
  const { pool, redis: settings, logger, metrics, memoryEvents, memoryBytes, onEvents, onReset } = options
  const names = redisNames(settings)
  const redis = connectRedis({ settings, name: 'parley-feed', logger })
  const subscriber = connectRedis({ settings, name: 'parley-feed-subscriber', logger })
  const replayed = metrics.counter(metric.eventsReplayed)
  const window = createWindow(memoryEvents, memoryBytes)
  const news = createSignal()
  const closing = new AbortController()
  const failures = createFailureLog(logger, 'the feed cannot continue, it will try again')
  const arrivals: string[] = []
  let arrivedChars = 0
  let mustCheck = false
  let epoch = ''
  let position = 0
  let following: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  /** Lets the loop compare with PostgreSQL before it waits again. */
  const requestCheck = () => {
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
    // The check finds events that were published before the subscription.
    onFollowing: requestCheck,
  })

  async function follow() {
    while (!closing.signal.aborted) {
      try {
        for (let text = takeArrival(); text !== undefined; text = takeArrival()) await receive(text)
        if (mustCheck) await compareWithPostgres()
        failures.succeeded()
        if (arrivals.length === 0) await news.wait(checkMs)
      } catch (err) {
        failures.failed(err)
        requestCheck()
        await delay(200, undefined, { signal: closing.signal }).catch(() => {})
      }
    }
  }

  function takeArrival() {
    const text = closing.signal.aborted ? undefined : arrivals.shift()
    arrivedChars -= text?.length ?? 0
    return text
  }

  async function receive(text: string) {
    const header = readHeader(text)
    if (header.epoch !== epoch) return requestCheck()
    if (header.last <= position) return
    if (header.first > position + 1) await fillUpTo(header.first - 1)
    if (header.epoch === epoch && header.last > position)
      await passOn(decodeBatch(text).filter(({ pos }) => pos > position))
  }

  /** Compares with PostgreSQL, which knows the last position and the epoch. */
  async function compareWithPostgres() {
    mustCheck = false
    const newest = await readNewestPosition(pool)
    if (newest.epoch !== epoch) return reset('another epoch has begun', newest)
    if (newest.pos < position) return reset('the positions were set back', newest)
    await fillUpTo(newest.pos)
  }

  async function fillUpTo(upTo: number) {
    while (position < upTo && !closing.signal.aborted) {
      const reading = await readAfter(position, Math.min(upTo - position, holeEvents))
      if (reading === 'gone')
        return reset('events are missing that nobody has any more', await readNewestPosition(pool))
      countReplayed(reading)
      await passOn(reading.events)
    }
  }

  const readAfter = (after: number, limit: number) =>
    readEvents({ redis, pool, key: names.stream(epoch) }, after, limit)

  async function passOn(events: PositionedEvent[]) {
    try {
      await onEvents(events)
    } catch (err) {
      // The listener's state is unknown now, so it must begin again. The events are not lost: the ended streams resume
      // after their own last event.
      logger.error({ err }, 'events could not be delivered')
      onReset('events could not be delivered')
    }
    window.add(events)
    position = events.at(-1)!.pos
  }

  function reset(reason: string, newest: Cursor) {
    logger.warn({ reason, epoch: newest.epoch, pos: newest.pos, before: position }, 'the feed begins again')
    epoch = newest.epoch
    position = newest.pos
    window.clear()
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
          const newest = await readNewestPosition(pool)
          epoch = newest.epoch
          position = newest.pos
        } catch (err) {
          if (closing.signal.aborted) return
          logger.warn({ err }, 'the feed waits for PostgreSQL')
          await delay(500, undefined, { signal: closing.signal }).catch(() => {})
        }
      }
      if (closing.signal.aborted) return
      timer = setInterval(requestCheck, checkMs)
      following = follow()
    },
    async close() {
      closing.abort()
      clearInterval(timer)
      news.ring()
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
      const reading = await readAfter(after, Math.min(limit, position - after))
      if (reading === 'gone') return 'gone'
      countReplayed(reading)
      return reading.events
    },
  }
}
