import { findOldestPosition, type PositionedEvent, readLog } from '@parley/events'
import type { Deps } from '@parley/service'
import { filterEntitled, matchesFilter, type Pair, typeOf } from './matching.ts'
import { addEvents, joinSharedReading, readSeparatelyAfter, type Subscriber } from './subscriber.ts'
import type { Subscribers } from './subscribers.ts'

const readEvents = 500
/** A subscription with more waiting events reads the log separately, so that a slow receiver takes little memory. */
const maxQueued = 200
/** The number of subscriptions that read the log separately at the same time, one page each. */
const maxCatchingUp = 4
/** A subscription that is at most this many events behind takes part in the shared reading from the start. */
const nearEvents = 10_000

export type LogReading = ReturnType<typeof createLogReading>

/**
 * Reads the log of events into the queues of subscriptions: once for all that keep up, and separately for each one that
 * fell behind.
 */
export function createLogReading(
  { db, pool, clock, logger }: Pick<Deps, 'db' | 'pool' | 'clock' | 'logger'>,
  subscribers: Subscribers,
) {
  /** The position that the shared reading has reached. */
  let sharedPos = 0
  let catchingUp = 0

  /** Call it once, when the subscriptions are loaded. */
  function begin(newestPos: number) {
    const near = [...subscribers.all].filter(({ readPos }) => readPos >= newestPos - nearEvents)
    sharedPos = Math.min(newestPos, ...near.map(({ readPos }) => readPos))
    for (const subscriber of near) joinSharedReading(subscriber)
  }

  /** Reads the next page of the log for all subscriptions that keep up. Returns whether there was a page. */
  async function readNextPage(newestPos: number): Promise<boolean> {
    if (subscribers.size === 0) {
      sharedPos = newestPos
      return false
    }
    const events = await readLog(pool, sharedPos, readEvents)
    if (events === 'gone') {
      sharedPos = ((await findOldestPosition(pool, sharedPos)) ?? newestPos + 1) - 1
      logger.warn({ sharedPos }, 'subscriptions missed events that are no longer stored')
      return true
    }
    if (events.length === 0) return false
    const ofPage = new Set([...subscribers.all].filter(({ isCaughtUp }) => isCaughtUp))
    const checkedAt = performance.now()
    const matched = await filterEntitled(
      db,
      match(events, (type) => subscribers.of(type).filter((subscriber) => ofPage.has(subscriber))),
      clock(),
    )
    // There is no `await` below, so no subscription changes meanwhile.
    separateOthers(ofPage)
    for (const [subscriber, pairs] of Map.groupBy(matched, ({ subscriber }) => subscriber)) {
      const ofSubscriber = pairs.map(({ event }) => event)
      enqueue(subscriber, ofSubscriber, checkedAt)
    }
    sharedPos = events.at(-1)!.pos
    return true
  }

  /** Subscriptions that caught up while a page was read were not part of it, so they read its events separately. */
  function separateOthers(ofPage: ReadonlySet<Subscriber>) {
    for (const subscriber of subscribers.all) {
      if (!subscriber.isCaughtUp || ofPage.has(subscriber)) continue
      readSeparatelyAfter(subscriber, Math.max(subscriber.readPos, sharedPos))
    }
  }

  /** Adds as many of these events as the queue may have. If there are more, the subscription reads them separately later. */
  function enqueue(subscriber: Subscriber, events: readonly PositionedEvent[], checkedAt: number) {
    const fitting = events.slice(0, Math.max(0, maxQueued - subscriber.queue.length))
    const readPos = fitting.at(-1)?.pos ?? subscriber.readPos
    addEvents(subscriber, fitting, { readPos, checkedAt })
    if (fitting.length < events.length) readSeparatelyAfter(subscriber, readPos)
  }

  /** Reads a page of the log for one subscription that fell behind. */
  async function catchUp(subscriber: Subscriber) {
    catchingUp++
    try {
      await readSeparately(subscriber)
    } finally {
      catchingUp--
    }
  }

  async function readSeparately(subscriber: Subscriber) {
    const { readPos } = subscriber
    const events = readPos >= sharedPos ? [] : await readLog(pool, readPos, readEvents)
    if (events === 'gone') {
      const oldest = (await findOldestPosition(pool, readPos)) ?? sharedPos + 1
      readSeparatelyAfter(subscriber, oldest - 1)
      logger.warn({ subscription: subscriber.id }, 'a subscription missed events that are no longer stored')
      return
    }
    const checkedAt = performance.now()
    const allowed = await filterEntitled(
      db,
      match(events, () => [subscriber]),
      clock(),
    )
    const reached = events.at(-1)?.pos ?? readPos
    addEvents(
      subscriber,
      allowed.map(({ event }) => event),
      { readPos: reached, checkedAt },
    )
    if (reached >= sharedPos) joinSharedReading(subscriber)
  }

  return {
    begin,
    readNextPage,
    catchUp,
    /** Whether one more subscription may read the log separately now. */
    mayCatchUp: () => catchingUp < maxCatchingUp,
    /** With an empty queue, all events that were read are delivered, also those that the subscription does not ask for. */
    positionToStore({ deliveredPos, queue, isCaughtUp, readPos }: Subscriber): number {
      if (queue.length > 0) return deliveredPos
      return Math.max(isCaughtUp ? sharedPos : readPos, deliveredPos)
    },
  }
}

/** The events that the subscriptions of their type ask for. Rights are not checked here. */
function match(events: readonly PositionedEvent[], of: (type: string) => readonly Subscriber[]): Pair[] {
  const pairs: Pair[] = []
  for (const event of events) {
    const type = typeOf(event)
    if (type === undefined) continue
    for (const subscriber of of(type)) {
      if (event.pos > subscriber.readPos && matchesFilter(subscriber.settings, event)) pairs.push({ subscriber, event })
    }
  }
  return pairs
}
