import { findOldestPosition, type PositionedEvent, readLog } from '@parley/events'
import type { Deps } from '@parley/service'
import { filterEntitled, matchesFilter, type Pair, typeOf } from './matching.ts'
import type { Subscriber, Subscribers } from './subscribers.ts'

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
    for (const subscriber of near) subscriber.isCaughtUp = true
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
    const caughtUp = [...subscribers.all].filter(({ isCaughtUp }) => isCaughtUp)
    const checkedAt = performance.now()
    const matched = await filterEntitled(
      db,
      match(events, (type) => subscribers.of(type).filter(({ isCaughtUp }) => isCaughtUp)),
      clock(),
    )
    // There is no `await` below, so no subscription changes meanwhile.
    separateOthers(new Set(caughtUp))
    for (const pair of matched) enqueue(pair, checkedAt)
    sharedPos = events.at(-1)!.pos
    return true
  }

  /** Subscriptions that caught up while a page was read were not part of it, so they read its events separately. */
  function separateOthers(ofPage: ReadonlySet<Subscriber>) {
    for (const subscriber of subscribers.all) {
      if (!subscriber.isCaughtUp || ofPage.has(subscriber)) continue
      subscriber.isCaughtUp = false
      subscriber.readPos = Math.max(subscriber.readPos, sharedPos)
    }
  }

  function enqueue({ subscriber, event }: Pair<Subscriber>, checkedAt: number) {
    if (!subscriber.isCaughtUp || event.pos <= subscriber.readPos) return
    if (subscriber.queue.length >= maxQueued) {
      subscriber.isCaughtUp = false
      return
    }
    if (subscriber.queue.length === 0) subscriber.checkedAt = checkedAt
    subscriber.queue.push(event)
    subscriber.readPos = event.pos
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
    const { generation, readPos } = subscriber
    const isSame = () => subscriber.generation === generation && !subscriber.isDeleted
    const events = readPos >= sharedPos ? [] : await readLog(pool, readPos, readEvents)
    if (events === 'gone') {
      const oldest = (await findOldestPosition(pool, readPos)) ?? sharedPos + 1
      if (isSame()) subscriber.readPos = oldest - 1
      logger.warn({ subscription: subscriber.id }, 'a subscription missed events that are no longer stored')
      return
    }
    const checkedAt = performance.now()
    const allowed = await filterEntitled(
      db,
      match(events, () => [subscriber]),
      clock(),
    )
    if (!isSame()) return
    if (subscriber.queue.length === 0) subscriber.checkedAt = checkedAt
    subscriber.queue.push(...allowed.map(({ event }) => event))
    subscriber.readPos = events.at(-1)?.pos ?? readPos
    if (subscriber.readPos >= sharedPos) subscriber.isCaughtUp = true
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
function match(events: readonly PositionedEvent[], of: (type: string) => readonly Subscriber[]): Pair<Subscriber>[] {
  const pairs: Pair<Subscriber>[] = []
  for (const event of events) {
    const type = typeOf(event)
    if (type === undefined) continue
    for (const subscriber of of(type)) {
      if (event.pos > subscriber.readPos && matchesFilter(subscriber, event)) pairs.push({ subscriber, event })
    }
  }
  return pairs
}
