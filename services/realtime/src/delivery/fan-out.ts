import { setTimeout as delay } from 'node:timers/promises'
import type { PositionedEvent } from '@parley/events'
import type { Logger, Metrics } from '@parley/telemetry'
import type { OpenStreams } from '../streams/open-streams.ts'
import type { SleepWatch } from '../streams/sleep-watch.ts'
import { createDeliveryMetrics, type Delivery, traceDeliveries } from './delivery-metrics.ts'
import type { Entitlement } from './entitlement.ts'
import { createWriteQueue } from './write-queue.ts'

interface FanOutParts {
  streams: OpenStreams
  entitlement: Entitlement
  sleep: Pick<SleepWatch, 'isAwake' | 'untilAwake'>
  /** The epoch of the feed, and the last position that it has delivered. */
  feed: () => { epoch: string; position: number }
  clock: () => number
  logger: Logger
  metrics: Metrics
}

export type FanOut = ReturnType<typeof createFanOut>

const databaseRetryMs = 250
/** Time for writing to streams in one turn of the event loop. Between the turns the process serves requests and opens streams. */
const turnMs = 4
/** Pause between two deliveries while many clients reconnect, because opening their streams has priority. */
const surgePauseMs = 1_000

/**
 * Delivers events to the live streams. All events that arrive before a stream is written to are one write, and streams with the same
 * frames share the bytes.
 */
export function createFanOut({ streams, entitlement, sleep, feed, clock, logger, metrics }: FanOutParts) {
  const measured = createDeliveryMetrics(metrics, clock)
  const queue = createWriteQueue(streams)
  const waiters = new Set<{ pos: number; wake: () => void }>()
  /** The events whose audiences are known, until they are added to the queue. */
  let pending: Delivery[] = []
  /** How many calls of `prepare` are reading rights. */
  let preparing = 0
  let isScheduled = false
  /** All events up to this position were added to the queue. Only valid while later ones are pending or prepared. */
  let lastQueued = 0
  /** Increases with each reset. What was received before a reset is dropped. */
  let generation = 0
  /** When a turn last ended with an empty queue. */
  let emptyAt = 0

  /** Queues the next events. When rights must be read first, it returns a promise that resolves once the events are queued. */
  function receive(events: PositionedEvent[]): void | Promise<void> {
    if (events.length === 0) return
    if (pending.length === 0 && preparing === 0) lastQueued = events[0]!.pos - 1
    const changed = applyControls(events)
    if (changed.length === 0 && entitlement.isKnown(events)) return enqueue(events)

    preparing++
    return prepare(events, changed, generation).finally(() => preparing--)
  }

  /** Ends the streams of ended sessions, and applies changed memberships. Returns the people whose rights must be read again. */
  function applyControls(events: readonly PositionedEvent[]) {
    const changed: string[] = []
    for (const event of events) {
      const { routing } = event
      entitlement.applyMembership(event)
      if (routing.reloadGroups) entitlement.forgetGroups(routing.reloadGroups)
      if (routing.endSessions) entitlement.endSessions(routing.endSessions)
      if (routing.reloadUsers) changed.push(...routing.reloadUsers)
    }
    return changed
  }

  /**
   * Reads the rights that these events need, and then queues the events. It retries until the database answers, because delivery never
   * uses outdated rights. Later events wait too.
   */
  async function prepare(events: PositionedEvent[], changed: string[], generationBefore: number) {
    for (let failures = 0; generationBefore === generation; failures++) {
      try {
        if (changed.length > 0) await entitlement.reloadUsers(changed)
        await entitlement.load(events)
        if (generationBefore === generation) enqueue(events)
        return
      } catch (error) {
        if (failures === 0) logger.warn({ err: error }, 'delivery waits for the database')
        await delay(databaseRetryMs)
      }
    }
  }

  function enqueue(events: readonly PositionedEvent[]) {
    schedule()
    for (const event of events)
      pending.push({ event, audience: entitlement.resolveAudience(event.routing), streams: 0 })
  }

  function schedule() {
    if (isScheduled) return
    isScheduled = true
    const pauseMs = queue.isEmpty() && streams.isSurging() ? emptyAt + surgePauseMs - performance.now() : 0
    if (pauseMs > 0) setTimeout(deliver, pauseMs)
    else setImmediate(deliver)
  }

  /**
   * One turn of the event loop: adds the pending events to the queue, and writes to a part of the streams. During a surge events are only
   * added to an empty queue.
   */
  function deliver() {
    if (!sleep.isAwake()) return void sleep.untilAwake().then(() => setImmediate(deliver))
    if (pending.length > 0 && (queue.isEmpty() || (queue.takesMore() && !streams.isSurging()))) addPending()
    // The process may have been stopped while it added them, which takes long with many streams.
    if (sleep.isAwake()) queue.writeFor(turnMs)
    if (queue.isEmpty()) emptyAt = performance.now()

    isScheduled = false
    if (pending.length > 0 || !queue.isEmpty()) schedule()
    else entitlement.trim()
  }

  function addPending() {
    const deliveries = pending
    pending = []
    const endSpans = traceDeliveries(deliveries)
    queue.add(deliveries, feed().epoch, () => {
      measured.recordLag(deliveries)
      endSpans()
    })
    for (const delivery of deliveries) measured.count(delivery)
    lastQueued = deliveries.at(-1)!.event.pos
    for (const waiter of waiters) {
      if (waiter.pos > lastQueued) continue
      waiters.delete(waiter)
      waiter.wake()
    }
  }

  /**
   * All events up to this position were written to the live streams, or are being written. It changes only between turns of the event
   * loop.
   */
  const position = () => (pending.length > 0 || preparing > 0 ? lastQueued : feed().position)

  /** Resolves when the event at `pos` is in the queue of writes, or when `signal` aborts. */
  function untilQueued(pos: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter = { pos, wake: resolve }
    waiters.add(waiter)
    signal.addEventListener('abort', () => waiters.delete(waiter) && resolve(), { once: true })
    return promise
  }

  /** Drops all pending events, because a new epoch begins. */
  function reset() {
    generation++
    pending = []
    for (const { wake } of waiters) wake()
    waiters.clear()
  }

  return { receive, position, untilQueued, reset }
}
