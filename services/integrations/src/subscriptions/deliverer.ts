import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { SubscriptionDeliveryRow } from '@parley/database'
import { createSignal, findOldestPosition, type PositionedEvent, readLog, type Signal } from '@parley/events'
import type { Deps } from '@parley/service'
import { filterEntitled, matchesFilter, type Pair, typeOf } from './matching.ts'
import { createQueueSender, type SenderParts } from './send-queue.ts'
import { createSubscribers, type Subscriber } from './subscribers.ts'
import {
  findChanged,
  findNewestPosition,
  insertDeliveries,
  releaseLease,
  takeLease,
  updatePositions,
} from './subscriptions.queries.ts'

export interface DelivererOptions extends SenderParts, Pick<Deps, 'pool' | 'seals' | 'logger'> {}

const leaseMs = 8_000
const stepMs = 1_000
/** The pause between two reads of the log. On average an event waits for half of it. */
const pollMs = 200
const readEvents = 500
/** A subscription with more waiting events reads the log separately, so that a slow receiver takes little memory. */
const maxQueued = 200
/** The number of subscriptions that read the log separately at the same time, one page each. */
const maxCatchingUp = 4
/** The pause between two writes of the positions of idle subscriptions. */
const idleMs = 60_000
/** A subscription that is at most this many events behind takes part in the shared reading from the start. */
const nearEvents = 10_000

/**
 * Sends events to subscriptions: each event at least once, and in order for each subscription. The process that has the
 * lease delivers, and the others wait for the lease. The log is read once for all subscriptions that keep up. A
 * subscription that falls behind, because its receiver is slow or unavailable, reads the log separately. So one
 * receiver never delays the others.
 */
export function createDeliverer(options: DelivererOptions) {
  const { db, logger } = options
  const holder = `${hostname()} ${process.pid} ${randomUUID()}`
  const stopping = new AbortController()
  const wakeUp = createSignal()
  let running: Promise<void> | undefined

  async function competeForLease() {
    while (!stopping.signal.aborted) {
      try {
        if (await takeLease(db, holder, leaseMs)) await lead(options, { holder, stopping, wakeUp })
      } catch (err) {
        if (!stopping.signal.aborted)
          logger.warn({ err }, 'delivering events to subscriptions failed; it will be tried again')
      }
      await delay(stepMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  return {
    start() {
      running = competeForLease()
    },
    async stop() {
      stopping.abort()
      wakeUp.ring()
      await running
    },
  }
}

interface Candidate {
  /** The name under which this process takes the lease. */
  holder: string
  stopping: AbortController
  /** Rings when a subscription has finished its task, and when the deliverer stops. */
  wakeUp: Signal
}

/**
 * Delivers until stopped, until the lease is lost, or until PostgreSQL fails. Events beyond the stored positions are
 * sent again later.
 */
async function lead(options: DelivererOptions, { holder, stopping, wakeUp }: Candidate): Promise<void> {
  const { db, pool, seals, logger, clock } = options
  const term = new AbortController()
  const ended = AbortSignal.any([term.signal, stopping.signal])
  const subscribers = createSubscribers(seals)
  const attempted: SubscriptionDeliveryRow[] = []
  const working = new Set<Promise<void>>()
  let { epoch, pos: newestPos } = await findNewestPosition(db)
  let changedSince = 0
  let heldUntil = performance.now() + leaseMs
  let steppedAt = Number.NEGATIVE_INFINITY
  let idleAt = performance.now()
  let catchingUp = 0
  const send = createQueueSender(options, {
    epoch,
    attempted,
    ended,
    maySend: () => !ended.aborted && performance.now() < heldUntil,
  })

  await loadChanges()
  const nearSubscribers = [...subscribers.all].filter(({ readPos }) => readPos >= newestPos - nearEvents)
  /** The position that the shared reading of the log has reached. */
  let sharedPos = Math.min(newestPos, ...nearSubscribers.map(({ readPos }) => readPos))
  for (const subscriber of nearSubscribers) subscriber.isCaughtUp = true
  try {
    while (!ended.aborted) {
      if (performance.now() - steppedAt >= stepMs) {
        steppedAt = performance.now()
        if (!(await takeLease(db, holder, leaseMs))) return
        heldUntil = steppedAt + leaseMs
        await loadChanges()
        await write()
        const now = await findNewestPosition(db)
        if (now.epoch !== epoch) return
        newestPos = now.pos
      }
      const isMore = await readNextPage()
      for (const subscriber of subscribers.all) advance(subscriber)
      if (!isMore) await wakeUp.wait(pollMs)
    }
  } finally {
    term.abort()
    await Promise.all(working)
    if (stopping.signal.aborted) {
      await write().catch((err) => logger.warn({ err }, 'some events will be sent to subscriptions again'))
      await releaseLease(db, holder).catch(() => {})
    }
  }

  async function loadChanges() {
    const since = changedSince
    changedSince = clock() - 60_000
    for (const row of await findChanged(db, since)) subscribers.apply(row)
  }

  /** Reads the next page of the log for all subscriptions that keep up. Returns whether there was a page. */
  async function readNextPage(): Promise<boolean> {
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
    // There is no `await` below. A subscription that caught up during the query above was not part of it, so it reads
    // these events separately.
    const checked = new Set(caughtUp)
    for (const subscriber of subscribers.all) {
      if (!subscriber.isCaughtUp || checked.has(subscriber)) continue
      subscriber.isCaughtUp = false
      subscriber.readPos = Math.max(subscriber.readPos, sharedPos)
    }
    for (const pair of matched) enqueue(pair, checkedAt)
    sharedPos = events.at(-1)!.pos
    return true
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

  /** Starts the next task of a subscription, if one is due: sending its queue, or reading the log. */
  function advance(subscriber: Subscriber) {
    if (subscriber.isBusy || subscriber.isDeleted || subscriber.isPaused || ended.aborted) return
    if (subscriber.queue.length === 0 && (subscriber.isCaughtUp || catchingUp >= maxCatchingUp)) return
    if (subscriber.retryAt > clock()) return
    subscriber.isBusy = true
    const work = (subscriber.queue.length > 0 ? send(subscriber) : catchUp(subscriber))
      .catch((err) => {
        subscriber.retryAt = Math.max(subscriber.retryAt, clock() + stepMs)
        if (!ended.aborted)
          logger.warn({ err, subscription: subscriber.id }, 'a task of a subscription failed; it will be tried again')
      })
      .finally(() => {
        subscriber.isBusy = false
        working.delete(work)
        wakeUp.ring()
      })
    working.add(work)
  }

  /** Reads a page of the log for one subscription that fell behind. */
  async function catchUp(subscriber: Subscriber) {
    catchingUp++
    try {
      const { generation, readPos } = subscriber
      const events = readPos >= sharedPos ? [] : await readLog(pool, readPos, readEvents)
      const isSame = () => subscriber.generation === generation && !subscriber.isDeleted
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
    } finally {
      catchingUp--
    }
  }

  /** With an empty queue, all events that were read are delivered, also those that the subscription does not ask for. */
  function positionToStore({ deliveredPos, queue, isCaughtUp, readPos }: Subscriber): number {
    if (queue.length > 0) return deliveredPos
    return Math.max(isCaughtUp ? sharedPos : readPos, deliveredPos)
  }

  /** Stores the deliveries and the positions of subscriptions. Positions of idle subscriptions are stored once a minute. */
  async function write() {
    const isIdleDue = performance.now() - idleAt > idleMs || ended.aborted
    if (isIdleDue) idleAt = performance.now()
    const reached = [...subscribers.all].filter(
      (each) => each.hasNewPosition || (isIdleDue && each.queue.length === 0 && !each.isPaused),
    )
    const log = attempted.splice(0)
    try {
      if (log.length > 0) await insertDeliveries(db, log)
      for (const subscriber of reached) subscriber.hasNewPosition = false
      if (reached.length > 0) {
        const rows = reached.map((each) => ({ id: each.id, generation: each.generation, pos: positionToStore(each) }))
        await updatePositions(db, holder, epoch, rows)
      }
    } catch (error) {
      for (const subscriber of reached) subscriber.hasNewPosition = true
      throw error
    }
  }
}

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
